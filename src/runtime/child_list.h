// ChildList: the daemon's child processes as the feed tells of them (`child`, runtime.md): what each is for, since when.
// Confined to the core thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "feed/feed.h"
#include "process/child.h"

namespace agentd::runtime {

class ChildList final {
 public:
  ChildList(feed::Feed& feed, const Clock& clock) : feed_(feed), clock_(clock) {}

  // `kind`: "step:<run>/<step>", "mcp:<server>", "subagent:<handle>".
  void started(process::ChildId node, int pid, std::string kind);
  void cancelled(process::ChildId node);
  void count_tokens(process::ChildId node, std::uint64_t tokens);  // told with its next change
  void reaped(process::ChildId node);

  [[nodiscard]] std::vector<feed::Child> all() const;
  [[nodiscard]] std::size_t size() const { return children_.size(); }

 private:
  struct Known {
    int pid = 0;
    std::string kind;
    std::int64_t started_ms = 0;
    std::uint64_t tokens = 0;
    bool cancelled = false;
  };
  [[nodiscard]] feed::Child payload(process::ChildId node, const Known& known) const;
  void push(process::ChildId node);

  feed::Feed& feed_;
  const Clock& clock_;
  std::map<process::ChildId, Known> children_;
};

}  // namespace agentd::runtime
