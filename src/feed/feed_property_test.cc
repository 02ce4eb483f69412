// Feed, Ring and Subscription through random lives, against a model that forgets nothing and applies events.md
// sections 5 to 7 by the letter: whatever is pushed, asked, read and restarted, a reader is given what it may see, each
// event once and in order, or is told that it lost some.
//
// A life is a list of operations. RapidCheck makes it up, and cuts one that fails down to the shortest that still does;
// it prints that and how to repeat it. RC_PARAMS="max_success=10000" makes 10,000 lives instead of 100, about
// 2.5 million operations.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "feed/bundle.h"
#include "feed/feed.h"

namespace agentd::feed {

constexpr std::size_t kReaders = 3;
constexpr std::size_t kPlenty = std::size_t{1} << 30U;

struct Limits {
  std::size_t events, bytes;
};

// Where a cursor stands against the window.
enum class Place : std::uint8_t { kZero, kEarly, kEvicted, kEdge, kInside, kNewest, kAhead, kLast };

// The operations. A reader whose connection has ended resumes at its next turn.
struct Push {
  unsigned payload, owner, bytes;
};
struct Open {
  unsigned reader, viewer, kinds;
  bool annotations;
  Place place;
  unsigned offset;  // kInside: how far from the oldest
};
struct Resume {
  unsigned reader;
};
struct Read {
  unsigned reader, bytes, taken;  // how many of the frames the socket took
};
struct Introspect {
  bool on;
};
struct Restart {
  bool store_lost;  // wiped, or an old copy; else the clock is set back
  unsigned ms;
};
using Operation = std::variant<Push, Open, Resume, Read, Introspect, Restart>;

void showValue(const Limits& limits, std::ostream& out) {
  out << fmt::format("ring of {} events, {} bytes", limits.events, limits.bytes);
}
void showValue(const Push& op, std::ostream& out) {
  out << fmt::format("push(payload {}, owner {}, {} bytes)", op.payload, op.owner, op.bytes);
}
void showValue(const Open& op, std::ostream& out) {
  out << fmt::format("open(reader {}, viewer {}, kinds {}, annotations {}, place {} + {})", op.reader, op.viewer,
                     op.kinds, op.annotations, static_cast<int>(op.place), op.offset);
}
void showValue(const Resume& op, std::ostream& out) { out << fmt::format("resume(reader {})", op.reader); }
void showValue(const Read& op, std::ostream& out) {
  out << fmt::format("read(reader {}, {} bytes, takes {})", op.reader, op.bytes, op.taken);
}
void showValue(const Introspect& op, std::ostream& out) { out << fmt::format("introspect({})", op.on); }
void showValue(const Restart& op, std::ostream& out) {
  out << fmt::format("restart({}, {} ms)", op.store_lost ? "store lost" : "clock set back", op.ms);
}
void showValue(const Operation& operation, std::ostream& out) {
  std::visit([&out](const auto& op) { showValue(op, out); }, operation);
}

namespace {

using rc::gen::arbitrary;
using rc::gen::construct;
using rc::gen::inRange;

rc::Gen<Limits> limits() {
  return construct<Limits>(inRange<std::size_t>(1, 60),
                           rc::gen::elementOf(std::vector<std::size_t>{kPlenty, kPlenty, 16'000, 4000, 1000, 1}));
}

rc::Gen<Operation> operation() {
  const auto reader = [] { return inRange<unsigned>(0, kReaders); };
  const auto place = rc::gen::map(inRange(0, 8), [](int i) { return static_cast<Place>(i); });
  using rc::gen::cast;
  return rc::gen::weightedOneOf<Operation>({
      {70, cast<Operation>(construct<Push>(inRange(0U, 6U), inRange(0U, 3U), inRange(0U, 200U)))},
      {84, cast<Operation>(construct<Read>(reader(), inRange(0U, 3000U), inRange(0U, 20U)))},
      {16, cast<Operation>(construct<Resume>(reader()))},
      {8, cast<Operation>(
              construct<Open>(reader(), inRange(0U, 4U), inRange(0U, 3U), arbitrary<bool>(), place, inRange(0U, 20U)))},
      {12, cast<Operation>(construct<Introspect>(arbitrary<bool>()))},
      {3, cast<Operation>(construct<Restart>(arbitrary<bool>(), inRange(0U, 100'000'000U)))},
  });
}

// What has happened in all lives together.
struct Tally {
  std::size_t lives = 0, operations = 0, pushed = 0, delivered = 0, lagged = 0, resynced = 0, restarted = 0;
};

class World {
 public:
  World(const Limits& limits, Tally& tally) : limits_(limits), tally_(tally) { start(); }

  void run(const Operation& operation) {
    std::visit([this](const auto& op) { apply(op); }, operation);
    ++tally_.operations;
    RC_ASSERT(feed_->window() == (Window{.oldest = oldest(), .newest = newest_}));
    RC_ASSERT(feed_->evicted() == events_.size() - life_ - held());
  }
  void end() {
    for (const Reader& reader : readers_) account(reader);
    ++tally_.lives;
  }

 private:
  struct Event {
    std::uint64_t seq;
    Kind kind;
    Visibility visibility;
    std::string text, plain;  // with annotations and without
  };
  struct Reader {
    std::optional<Subscription> subscription;  // while its connection lasts
    Interest interest;
    std::uint64_t begun = 0, cursor = 0;  // all events between the two are accounted for
    std::vector<std::uint64_t> given;     // between the two
  };

  void apply(const Push& op) {
    const std::string fill(op.bytes, 'x');
    const Visibility owner = Visibility::owner(std::array{"", "user:alice", "user:bob"}.at(op.owner));
    clock_.advance_ms(1);
    switch (op.payload) {
      case 0: return push(owner, TaskRemoved{fill});
      case 1: return push(Visibility::all(), Paused{fill});
      case 2: return push(Visibility::operators(), ChildRemoved{fill});
      case 3: return push(Visibility::operators(), Audit{.action = fill, .target = {}, .outcome = "ok"});
      default:
        Json task = {{"id", fill}, {"contextId", "c"}, {"status", {{"state", "TASK_STATE_WORKING"}}}};
        if (op.payload == 4) task["metadata"] = {{"own", fill}};
        return push(owner, Task{.task = std::move(task), .annotations = {{"run", "r"}}});
    }
  }

  template <Payload P>
  void push(const Visibility& visibility, const P& payload) {
    constexpr Kind kKind = *kKindCarrying<P>;
    const std::uint64_t seq = feed_->push(visibility, payload);
    if (kKind == Kind::kAudit && !introspection_) {
      RC_ASSERT(seq == newest_);
      return;
    }
    RC_ASSERT(seq == newest_ + 1);
    RC_ASSERT(seq <= reserved_end_);
    newest_ = seq;
    std::string written;
    static_cast<void>(append_data(written, payload));
    Json data = Json::parse(written);
    const auto frame = [&] {
      return fmt::format(R"({{"event":{{"seq":{},"ts":{},"kind":"{}","data":{}}}}})", seq, clock_.wall_ms(),
                         kind_name(kKind), dump_json(data));
    };
    Event event{.seq = seq, .kind = kKind, .visibility = visibility, .text = frame(), .plain = {}};
    if (kKind == Kind::kTask) {
      Json& metadata = data["task"]["metadata"];
      metadata.erase(std::string(kTaskAnnotationsUri));
      if (metadata.empty()) data["task"].erase("metadata");
      event.plain = frame();
    } else {
      event.plain = event.text;
    }
    events_.push_back(std::move(event));
    ++tally_.pushed;
  }

  void apply(const Open& op) {
    Reader& reader = readers_.at(op.reader);
    account(reader);
    reader.interest = {.viewer = {.is_operator = op.viewer == 0,
                                  .principal = std::array{"user:boss", "user:alice", "user:bob", ""}.at(op.viewer)},
                       .annotations = op.annotations,
                       .kinds = KindSet::parse(std::array{"", "task,audit", "lifecycle"}.at(op.kinds)).value()};
    begin(reader, subscribe(reader, place(op)));
  }

  void apply(const Resume& op) { resume(readers_.at(op.reader)); }

  void resume(Reader& reader) {
    if (reader.cursor == 0) return;  // never opened
    account(reader);
    const std::uint64_t start = subscribe(reader, reader.cursor);
    // Whether it was told of a loss or not, nothing that it was given comes again.
    RC_ASSERT(start >= reader.cursor);
    if (start != reader.cursor) begin(reader, start);
  }

  void apply(const Read& op) {
    Reader& reader = readers_.at(op.reader);
    if (!reader.subscription) return resume(reader);
    const Subscription::Batch batch = reader.subscription->peek(op.bytes);
    RC_ASSERT(batch.lagged == (reader.cursor < oldest() - 1));
    if (batch.lagged) {
      RC_ASSERT(batch.frames.empty());
      reader.subscription.reset();
      ++tally_.lagged;
      return;
    }
    check_batch(reader, batch, op.bytes);
    const std::size_t taken = std::min<std::size_t>(op.taken, batch.frames.size());
    for (std::size_t i = 0; i < taken; ++i) reader.given.push_back(batch.frames[i]->seq);
    if (taken == batch.frames.size()) {
      reader.cursor = batch.through;
    } else if (taken > 0) {
      reader.cursor = batch.frames[taken - 1]->seq;
    }
    reader.subscription->advance(reader.cursor);
    RC_ASSERT(Json::parse(reader.subscription->goodbye("deadline"))["goodbye"]["seq"] == reader.cursor);
    tally_.delivered += taken;
  }

  void apply(const Introspect& op) {
    introspection_ = op.on;
    feed_->set_introspection(op.on);
  }

  void apply(const Restart& op) {
    const std::int64_t latest = latest_ms_ = std::max(latest_ms_, clock_.wall_ms());
    if (op.store_lost) {
      reserved_end_ = op.ms % 2 == 0 ? 0 : backup_;
      clock_.set_wall_ms(latest + 60'000);
    } else {
      clock_.set_wall_ms(latest - op.ms);
    }
    for (Reader& reader : readers_) reader.subscription.reset();
    start();
    ++tally_.restarted;
  }

  void start() {
    const std::uint64_t first = first_seq(reserved_end_, clock_.wall_ms());
    // So that every cursor that anyone can hold is evicted in the new life, however far it gets.
    RC_ASSERT(first - 1 > newest_);
    newest_ = first - 1;
    life_ = events_.size();
    backup_ = reserved_end_;
    const auto reserve = [this](std::uint64_t end) {
      reserved_end_ = end;
      return agentd::Status();
    };
    feed_ = std::make_unique<Feed>(Options{.ring_events = limits_.events,
                                           .ring_bytes = limits_.bytes,
                                           .introspection = introspection_,
                                           .version = "1.2.3",
                                           .block = 8},
                                   first, reserve, clock_);
  }

  // Connects; returns the number that the stream starts past.
  std::uint64_t subscribe(Reader& reader, std::uint64_t cursor) {
    const bool lost = cursor != 0 && (cursor < oldest() - 1 || cursor > newest_);
    const std::uint64_t start = lost || cursor == 0 ? oldest() - 1 : cursor;
    reader.subscription.emplace(*feed_, reader.interest, cursor);
    const Json hello = {{"seq", newest_},
                        {"resume", cursor},
                        {"resync", lost},
                        {"introspection", introspection_},
                        {"version", "1.2.3"}};
    RC_ASSERT(Json::parse(reader.subscription->hello()) == (Json{{"hello", hello}}));
    RC_ASSERT(reader.subscription->cursor() == start);
    tally_.resynced += lost ? 1 : 0;
    return start;
  }

  static void begin(Reader& reader, std::uint64_t start) {
    reader.begun = reader.cursor = start;
    reader.given.clear();
  }

  void check_batch(const Reader& reader, const Subscription::Batch& batch, std::size_t max_bytes) const {
    RC_ASSERT(reader.subscription->cursor() == reader.cursor);
    std::size_t bytes = 0;
    auto frame = batch.frames.begin();
    for (auto event = events_.begin() + static_cast<std::ptrdiff_t>(life_); event != events_.end(); ++event) {
      if (event->seq <= reader.cursor || !sees(reader, *event)) continue;
      if (frame == batch.frames.end()) {
        // It ends before this one, because there is no room for it; nothing that is not sent is accounted for.
        RC_ASSERT(!batch.frames.empty());
        RC_ASSERT(bytes + event->text.size() > max_bytes);
        RC_ASSERT(batch.through >= batch.frames.back()->seq);
        RC_ASSERT(batch.through < event->seq);
        return;
      }
      RC_ASSERT((*frame)->seq == event->seq);
      const auto pieces = (*frame)->pieces(reader.interest.annotations);
      RC_ASSERT(std::string(pieces[0]).append(pieces[1]) == (reader.interest.annotations ? event->text : event->plain));
      bytes += event->text.size();
      RC_ASSERT(frame == batch.frames.begin() || bytes <= max_bytes);
      ++frame;
    }
    RC_ASSERT(frame == batch.frames.end());
    RC_ASSERT(batch.through == newest_);
  }

  // Between its beginning and its cursor the reader was given each event that it may see, once and in order. Of audit
  // events it depends on when they were passed over; check_batch sees to those.
  void account(const Reader& reader) const {
    std::vector<std::uint64_t> given, due;
    for (const Event& event : events_) {
      const bool between = event.seq > reader.begun && event.seq <= reader.cursor;
      if (between && event.kind != Kind::kAudit && sees(reader, event)) due.push_back(event.seq);
    }
    for (const std::uint64_t seq : reader.given) {
      const auto event = std::ranges::find(events_, seq, &Event::seq);
      RC_ASSERT(event != events_.end());
      if (event->kind != Kind::kAudit) given.push_back(seq);
    }
    RC_ASSERT(given == due);
  }

  [[nodiscard]] bool sees(const Reader& reader, const Event& event) const {
    if (!reader.interest.kinds.contains(event.kind)) return false;
    if (event.kind == Kind::kAudit && !introspection_) return false;
    if (reader.interest.viewer.is_operator || event.visibility.reach() == Visibility::Reach::kAll) return true;
    return event.visibility.reach() == Visibility::Reach::kOwner &&
           event.visibility.principal() == reader.interest.viewer.principal;
  }

  // How many of the newest events the ring has room for: of this life, one at least.
  [[nodiscard]] std::size_t held() const {
    std::size_t count = 0, bytes = 0;
    for (auto event = events_.rbegin(); count < std::min(limits_.events, events_.size() - life_); ++event, ++count) {
      bytes += sizeof(Frame) + event->text.size();
      if (count > 0 && bytes > limits_.bytes) break;
    }
    return count;
  }
  [[nodiscard]] std::uint64_t oldest() const { return newest_ + 1 - held(); }

  [[nodiscard]] std::uint64_t place(const Open& op) const {
    switch (op.place) {
      case Place::kZero: return 0;
      case Place::kEarly: return 1 + op.offset;
      case Place::kEvicted: return oldest() - 2;
      case Place::kEdge: return oldest() - 1;
      case Place::kInside: return std::min(oldest() + op.offset, newest_);
      case Place::kNewest: return newest_;
      case Place::kAhead: return newest_ + 1;
      case Place::kLast: return ~std::uint64_t{0};
    }
    return 0;
  }

  const Limits limits_;
  Tally& tally_;
  ManualClock clock_{1'770'000'000'000};
  std::int64_t latest_ms_ = 0;
  std::uint64_t reserved_end_ = 0, backup_ = 0;  // what the store has, and what a copy of it had
  std::unique_ptr<Feed> feed_;
  bool introspection_ = false;

  std::vector<Event> events_;  // of all lives
  std::size_t life_ = 0;       // how many of them are of earlier lives
  std::uint64_t newest_ = 0;
  std::array<Reader, kReaders> readers_;
};

TEST(FeedProperty, GivesEachReaderWhatItMaySeeOnceAndInOrderOrTellsItOfALoss) {
  Tally tally;
  const bool held = rc::check("a random life of the feed", [&tally] {
    const Limits ring = *rc::gen::resize(100, limits());
    const auto life =
        *rc::gen::scale(10, rc::gen::container<std::vector<Operation>>(rc::gen::resize(100, operation())));
    World world(ring, tally);
    for (const Operation& operation : life) world.run(operation);
    world.end();
  });
  fmt::print("{} lives, {} operations: {} events pushed, {} delivered, {} readers lagged, {} resyncs, {} restarts\n",
             tally.lives, tally.operations, tally.pushed, tally.delivered, tally.lagged, tally.resynced,
             tally.restarted);
  ASSERT_TRUE(held);
  if (std::getenv("RC_PARAMS") != nullptr) return;
  EXPECT_GT(tally.delivered, 1000U);
  EXPECT_GT(tally.lagged, 100U);
  EXPECT_GT(tally.resynced, 100U);
}

}  // namespace
}  // namespace agentd::feed
