// The feed, one stream of it and the client at the other end, through crashes, restarts and revocation: a model for Spin of
// what docs/extensions/events.md promises. README.md says what it proves, what it leaves out and how it is run.
//
//   World                           Edge                                 Client
//   push, revoke, crash, start      peek, check, send                    connect, read, drop
//      |                              |  ^                                  ^
//      |                              |  | cursor                           | known
//      +--> oldest ... newest --------+  +--- wire: frames on their way ----+
//
// A name in brackets is the code that a piece stands for. What is marked `ghost` nobody in the daemon knows: the properties
// are said with it, and it bounds the state space. Each `atomic` is what no other thread can see the inside of.

#ifndef PUSHES
#define PUSHES 3         // in all lives together
#endif
#ifndef LIVES
#define LIVES 1
#endif
#ifndef REVOCATIONS
#define REVOCATIONS 0
#endif
#ifndef DROPS
#define DROPS ANY        // how often a connection may break
#endif
#ifndef DEADLINES
#define DEADLINES ANY
#endif
#define ANY 255
#define RING 2           // events
#define BLOCK 2          // numbers reserved at a time

// Mutations: -DBREAK=<one of them> breaks that rule, and Spin has to find the property that falls with it.
#define HONOUR_OLDEST_2 1       // a cursor is honoured although the one event past it is gone
#define KEEP_LAGGED 2           // a stream behind the ring goes on from the ring's front
#define ADVANCE_AT_PEEK 3       // the cursor moves when frames are looked at, not when the kernel has them
#define ADVANCE_SHORT 4         // the last frame that the kernel took is not counted
#define BOOKMARK_NEWEST 5       // a bookmark names the feed's newest number instead of the stream's cursor
#define GOODBYE_BEFORE_HELLO 6  // a stream that ends before its hello says goodbye
#define BEGIN_AT_1 7            // each life numbers from 1
#define BEGIN_AT_NEXT 8         // a life begins one past the reserved block, not two
#define IGNORE_CLOCK 9          // a life begins past the reserved block, whatever the clock says
#define IGNORE_BLOCK 10         // a life begins where the clock says, whatever is reserved
#define LOSE_AT_ONCE 11         // an assumption: a store is not lost while the clock is still behind what it reserved
#define IGNORE_REVOKED 12       // revocation is not looked at
#define CHECK_BEFORE_PEEK 13    // revocation is looked at before the ring is
#define CLEAR_AFTER_TURN 14     // the mark that the feed has moved is cleared after the ring was read, not before
#define REVOKE_IN_SILENCE 15    // a session is marked as revoked, and no stream woken
#ifndef BREAK
#define BREAK 0
#endif
#define broken(rule) (BREAK == rule)

mtype = { HELLO, RESYNC, EVENT, BOOKMARK, DEADLINE, REVOKED }   // frames; RESYNC is a hello that says resync
mtype = { NONE, AT_HELLO, AT_EVENTS, AT_GOODBYE }               // phases of the stream [EventsStream::Phase]
mtype = { OFF, CONNECTED, OPEN, STOPPED }                       // of the client [FeedCursor::Phase]

// The feed [Feed, Ring]. The ring holds oldest..newest; it is empty when oldest is newest + 1.
bool alive;
byte first, oldest, next;
byte reserve_at;
bool visible[PUSHES];           // whether the client may see event first + i; of evicted events a ghost
#define newest (next - 1)
#define may_see(n) visible[(n) - first]

// What outlives the daemon: the end of the last reserved block, and the clock, counted in the numbers that it stands for.
byte reserved;
byte wall = 1;
bool revoked;                   // the client's session
byte revoked_at;                // ghost: newest at that moment
byte last_visible;              // ghost: the newest event that the client may see
byte lives, pushes;             // ghost: counted against their bounds

// The stream, on the edge thread [EventsStream, Subscription, http::Stream].
mtype phase = NONE;
mtype hello, reason;            // the first frame and the last
byte hello_seq;
byte cursor;
byte half;                      // the event of which the kernel has taken a part, or 0 [Stream::Current]
bool moved;                     // the feed has moved, and the edge does not know yet [Gateway::Mailbox]
bool ready;                     // the connection is to be served [http::Edge::ready]
bool blocked;                   // it waits until the socket takes more [Connection::wait_writable]
bool busy;                      // ghost: the edge is in the middle of a turn
bool checked;                   // ghost: and has looked at `revoked` in it
bool excused;                   // ghost: and had done so when the session was revoked
byte deadlines;                 // ghost

chan wire = [1] of { mtype, byte };

// The client [FeedCursor, FeedReader].
mtype client = OFF;
byte known;                     // the cursor that it resumes with
bool ours;                      // ghost: `known` is a number of this life
byte front;                     // ghost: the number before the ring's front when the stream began
byte base;                      // ghost: what the client may see past it has to come on this stream, each event once
byte drops;                     // ghost

// The properties. Each is set for no longer than the step that asserts it, so that an error is called by its name.
bool lost, repeated, stale, reused, leaked, disorderly;
#define must_not_be(property) assert(!property)

// any = whether an event that the client may see lies in from + 1 .. to
inline any_visible(any, from, to) {
  n = from + 1;
  do
  :: n <= to -> any = any || (n >= first && may_see(n)); n++
  :: else -> n = 0; break
  od
}

// ---- World: the core thread, and what befalls the daemon ----

inline wake() { moved = true }                            // [Gateway::feed_moved]

inline reserve_if_due() {                                 // [Feed::reserve_if_due]
  if
  :: next >= reserve_at ->
     if
     :: reserved = next + BLOCK - 1; reserve_at = reserved + 1
     :: reserved = 0; reserve_at = next + 1               // the store refused, so it bears no witness; the feed goes on
     fi
  :: else
  fi
}

inline push() {                                           // [Feed::publish, Ring::push]
  reserve_if_due();
  if
  :: may_see(next) = true; last_visible = next; printf("push %d\n", next)
  :: printf("push %d, for others\n", next)
  fi;
  next++;
  pushes++;
  wall++;                                                 // events come no faster than the clock's numbers
  if
  :: next - oldest > RING -> oldest++
  :: else
  fi;
  if
  :: next - oldest > 1 -> oldest = newest                 // evicted by bytes: the newest always stays
  :: skip
  fi;
  printf("the ring holds %d..%d\n", oldest, newest);
  wake()
}

inline revoke() {
  revoked = true;
  revoked_at = newest;
  excused = checked;
  printf("revoke\n");
  if
  :: broken(REVOKE_IN_SILENCE)
  :: else -> wake()
  fi
}

inline close() {                                          // the daemon's side of the connection is gone
  phase = NONE; hello = 0; hello_seq = 0; reason = 0; cursor = 0; half = 0; ready = false; blocked = false
}

inline die() {
  if
  :: printf("kill -9\n")
  :: reserved > newest -> reserved = newest; printf("stop\n")     // [Life::run, ReleaseSeq]
  fi;
  alive = false;
  moved = false;
  close()
}

// What the next life finds: its store or not, and a clock that is right or not. One of the two bears witness to the numbers
// that were used: the store is not lost before the clock has come past them.
inline outage() {
  wall++;                                                 // no restart is faster than a number of the clock: 15 us
#ifdef MEMORY
  reserved = 0;                                           // a store that keeps nothing needs the clock's pace and no more
  clock = wall
#else
  if
  :: reserved >= newest -> clock = 0                      // the store is whole, and the clock was set back
  :: reserved >= newest -> clock = wall
  :: true ->                                              // the clock is right, and the store lost or an older backup
     if
     :: wall <= next && !broken(LOSE_AT_ONCE) -> wall = next + 1
     :: else
     fi;
     clock = wall;
     do
     :: reserved > 0 -> reserved--
     :: break
     od
  fi
#endif
}

inline start() {                                          // [feed::first_seq, Feed::Feed]
  outage();
  first = reserved + (broken(BEGIN_AT_NEXT) -> 1 : 2);
  if
  :: broken(BEGIN_AT_1) || broken(IGNORE_BLOCK) -> first = 1
  :: else
  fi;
  if
  :: clock > first && !broken(IGNORE_CLOCK) && !broken(BEGIN_AT_1) -> first = clock
  :: else
  fi;
  printf("life %d begins at %d: reserved %d, clock %d\n", lives + 1, first, reserved, clock);
  reused = lives > 0 && first <= newest;
  must_not_be(reused);
  clock = 0;
  do
  :: n < PUSHES -> visible[n] = false; n++
  :: else -> n = 0; break
  od;
  last_visible = 0;
  ours = false;
  oldest = first;
  next = first;
  reserve_at = first;
  reserve_if_due();
  lives++;
  alive = true
}

active proctype World() {
  byte clock, n;
end:
  do
  :: atomic { alive && pushes < PUSHES && client != STOPPED -> push() }
  :: atomic { alive && REVOCATIONS > 0 && !revoked -> revoke() }
     // Between a peek and its send nothing leaves the daemon: a crash there is a crash before the peek. A revoked client that
     // lost its stream so is refused; it is by a drop too.
  :: atomic { alive && !busy && !revoked && lives < LIVES -> die() }
     // What was on its way is read, or lost, before the next life begins: the two do not touch.
  :: atomic { !alive && client == OFF && lives < LIVES -> start() }
  od
}

// ---- Edge: the edge thread, with one stream ----

inline end_stream(why) {                                  // [EventsStream::end]
  printf("end: %e\n", why);
  if
  :: phase == AT_HELLO && !broken(GOODBYE_BEFORE_HELLO) -> close()
  :: else -> phase = AT_GOODBYE; reason = why; ready = true
  fi
}

// What could be sent next, at most two events, and how far the ring was looked through for it [Subscription::peek].
inline peek() {
  through = cursor;
  if
  :: phase != AT_EVENTS
  :: phase == AT_EVENTS && cursor + 1 < oldest && !broken(KEEP_LAGGED) ->
     printf("lagged: cut\n");
     close()                                              // without a word [EventsStream::peek]
  :: else ->
     if
     :: cursor + 1 < oldest -> through = oldest - 1
     :: else
     fi;
     do
     :: through == newest -> break
     :: through != newest && count == 1 && may_see(through + 1) ->  // max_bytes: at least one event
        more = true;
        break
     :: through != newest ->
        through++;
        if
        :: may_see(through) -> batch[count] = through; count++
        :: else
        fi
     od;
     printf("peek: %d events, through %d\n", count, through);
     if
     :: count == 0 || broken(ADVANCE_AT_PEEK) -> cursor = through
     :: else
     fi
  fi
}

inline check() {
  printf("check: revoked %d\n", revoked);
  checked = true;
  halt = revoked && !broken(IGNORE_REVOKED)
}

inline end_revoked() {
  count = 0;
  if
  :: half != 0 -> printf("cut\n"); close()                // nothing but its rest could follow half an event
  :: half == 0 && (phase == AT_HELLO || phase == AT_EVENTS) -> end_stream(REVOKED)
  :: half == 0 && (phase == AT_GOODBYE || phase == NONE)
  fi
}

inline account() {                                        // [EventsStream::consume, Subscription::advance]
  if
  :: taken == 0 || broken(ADVANCE_AT_PEEK)
  :: else ->
     if
     :: taken == count -> cursor = through
     :: else -> cursor = batch[taken - 1]
     fi;
     if
     :: broken(ADVANCE_SHORT) -> cursor--
     :: else
     fi
  fi
}

inline put_event(seq) {
  printf("send EVENT %d\n", seq);
  leaked = revoked && (!excused || seq > revoked_at);
  must_not_be(leaked);
  wire!EVENT(seq)
}

// One sendmsg: the rest of the event that it is in the middle of, then the batch, until the socket is full
// [Connection::offer, Stream::gather, Stream::taken].
inline send_events() {
  do
  :: half != 0 && nfull(wire) -> put_event(half); half = 0
  :: half == 0 && taken < count && nfull(wire) -> put_event(batch[taken]); taken++
  :: half == 0 && taken < count && full(wire) -> half = batch[taken]; taken++; break
  :: (half != 0 || taken < count) && full(wire) -> break
  :: half == 0 && taken == count -> break
  od;
  account();
  blocked = half != 0 || taken < count;
  ready = more && !blocked;                               // what comes later, a wake-up says
  if
  :: broken(CLEAR_AFTER_TURN) && !ready -> moved = false
  :: else
  fi
}

// Every byte is with the kernel, and for a while nothing was said [Connection::stream_idle, EventsStream::keep_alive].
inline send_bookmark() {
  printf("send BOOKMARK\n");
  wire!BOOKMARK((broken(BOOKMARK_NEWEST) -> newest : cursor));
  ready = false
}

inline send_goodbye() {
  if
  :: half != 0 && nfull(wire) -> put_event(half); half = 0
  :: half == 0 || full(wire)
  fi;
  if
  :: half == 0 && nfull(wire) -> printf("send goodbye\n"); wire!reason(cursor); close()
  :: half != 0 || full(wire) -> blocked = true
  fi
}

active proctype Edge() {
  byte batch[2], count, taken, through;
  bool more, halt;
end:
  do
     // The task that Gateway::feed_moved posts [EventsStream::wake].
  :: atomic { moved && !(broken(CLEAR_AFTER_TURN) && ready) ->
       moved = broken(CLEAR_AFTER_TURN) && phase != NONE;
       ready = phase != NONE
     }
  :: atomic { blocked && nfull(wire) -> blocked = false; ready = true }         // [Connection::writable]
     // The timer, at any time.
  :: atomic { (phase == AT_HELLO || phase == AT_EVENTS) && deadlines < DEADLINES ->
       deadlines = deadlines + (DEADLINES != ANY);
       end_stream(DEADLINE)
     }
     // One turn. The core may run between its steps; timers and the socket may not. The check comes after the peek: what was
     // peeked before a check that saw no revocation was pushed before the revocation.
  :: atomic { ready && !blocked ->
       busy = true;
       if
       :: broken(CHECK_BEFORE_PEEK) -> check()
       :: else -> peek()
       fi
     }
     atomic {
       if
       :: broken(CHECK_BEFORE_PEEK) -> peek()
       :: else -> check()
       fi
     }
     atomic {
       if
       :: halt -> end_revoked()
       :: else
       fi;
       if
       :: phase == AT_HELLO -> wire!hello(hello_seq); hello = 0; hello_seq = 0; phase = AT_EVENTS
       :: phase == AT_EVENTS -> send_events()
       :: phase == AT_EVENTS && half == 0 && count == 0 && nfull(wire) -> send_bookmark()
       :: phase == AT_GOODBYE -> send_goodbye()
       :: phase == NONE
       fi;
       busy = false; checked = false; excused = false; more = false; halt = false;
       batch[0] = 0; batch[1] = 0; count = 0; taken = 0; through = 0
     }
  od
}

// ---- Client: a reader that keeps the rules of docs/events.md ----

#define must_resync(at) (at + 1 + broken(HONOUR_OLDEST_2) < oldest || at > newest)

inline subscribe() {                                      // [Subscription::Subscription]
  front = oldest - 1;
  cursor = known;
  hello = HELLO;
  hello_seq = newest;
  if
  :: known == 0 -> cursor = front
  :: known != 0 && must_resync(known) -> cursor = front; hello = RESYNC
  :: else
  fi;
  printf("subscribe from %d: %e\n", known, hello);
  phase = AT_HELLO;
  ready = true;
  client = CONNECTED
}

inline hang_up(as) { client = as; base = 0; front = 0 }

inline account_for(seq) { base = seq; known = seq; ours = true }

inline take_hello() {                                     // [FeedCursor::take_hello]
  disorderly = client != CONNECTED;
  must_not_be(disorderly);
  client = OPEN;
  if
  :: frame == RESYNC -> account_for(number); base = front // it reads the state anew, and the replay begins at the front
  :: frame == HELLO && known == 0 -> base = front
  :: else ->
     stale = !ours;
     must_not_be(stale);
     any_visible(lost, known, front);
     must_not_be(lost);
     base = known
  fi;
  front = 0
}

inline take_other() {                                     // [FeedCursor::take_event, take_comment, take_goodbye]
  disorderly = client != OPEN;
  must_not_be(disorderly);
  repeated = number < base + (frame == EVENT);
  must_not_be(repeated);
  any_visible(lost, base, number - (frame == EVENT));
  must_not_be(lost);
  account_for(number);
  if
  :: frame == DEADLINE -> hang_up(OFF)
  :: frame == REVOKED -> hang_up(STOPPED)
  :: else
  fi
}

active proctype Client() {
  mtype frame;
  byte number, n;
end:
  do
     // The edge makes streams, and notices that they broke, between its turns.
  :: atomic { client == OFF && alive && phase == NONE && !busy ->
       if
       :: revoked -> printf("refused\n"); hang_up(STOPPED)
       :: else -> subscribe()
       fi
     }
     // It may begin with the document of `status`, which carries its place in the feed.
  :: atomic { client == OFF && alive && known == 0 && !revoked -> known = newest; ours = true; printf("status %d\n", known) }
  :: atomic { wire?frame(number) ->
       printf("take %e %d\n", frame, number);
       if
       :: frame == HELLO || frame == RESYNC -> take_hello()
       :: else -> take_other()
       fi;
       frame = 0;
       number = 0
     }
  :: atomic { (client == CONNECTED || client == OPEN) && phase == NONE && empty(wire) -> printf("cut\n"); hang_up(OFF) }
     // The connection breaks: by the network, a write that timed out, or the client.
  :: atomic { (client == CONNECTED || client == OPEN) && !busy && drops < DROPS ->
       drops = drops + (DROPS != ANY);
       printf("the connection breaks\n");
       do
       :: wire?frame(number)
       :: empty(wire) -> break
       od;
       frame = 0;
       number = 0;
       close();
       hang_up(OFF)
     }
  od
}

// Whatever is pushed reaches, in the end, a reader that may see it and goes on reading.
ltl heard { <>[] (revoked || (client == OPEN && base >= last_visible)) }
// The stream of a revoked session ends, also a quiet one.
ltl ended { [] (revoked -> <>[] (client == OFF || client == STOPPED)) }
