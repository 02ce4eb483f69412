// Readers: the subscribers of one edge thread by whom they read for, so that an event costs what its audience
// costs and not what all subscribers cost.
//
//   ring      … 41 42 | 43 44        through() is 42; moved() asks whom 43 and 44 concern
//   readers   alice: r1 r2   bob: r3   operators: r4
//
// A reader that has read all that it may see rests: its cursor is through(), which moves on without it. It is
// woken when something comes that it may see.
//
// Confined to one edge thread; the feed outlives it, and it outlives its readers. Cost of moved(): one lock, a
// comparison for each new event, a lookup for each of their owners, and one call for each reader woken.
#pragma once

#include <cstdint>
#include <map>

#include "feed/feed.h"

namespace agentd::feed {

class Readers;

// One subscriber, for as long as it lives or until it leaves.
class Reader {
 public:
  Reader(Readers& readers, const Viewer& viewer);
  virtual ~Reader() { leave(); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void leave();

 protected:
  // There may be something to read past `accounted`, and up to it there was nothing for a reader that rested.
  // Marks and returns: it neither reads nor destroys a reader.
  virtual void woken(std::uint64_t accounted) = 0;
  [[nodiscard]] virtual bool is_revoked() const = 0;

 private:
  friend class Readers;
  Readers* readers_;
  std::multimap<OwnerTag, Reader*>::iterator place_;
};

class Readers final {
 public:
  explicit Readers(const Feed& feed) : feed_(feed), through_(feed.window().newest) {}
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  // There are new events: wakes those whom they concern.
  void moved();
  // Some may have been revoked: wakes those that are, so that they end.
  void wake_revoked();
  // Everything up to this number has been looked at by moved().
  [[nodiscard]] std::uint64_t through() const { return through_; }

 private:
  friend class Reader;
  void wake(OwnerTag tag, std::uint64_t accounted);

  const Feed& feed_;
  std::uint64_t through_;
  News news_;  // room to work in
  std::multimap<OwnerTag, Reader*> by_owner_;
};

}  // namespace agentd::feed
