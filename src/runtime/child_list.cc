#include "runtime/child_list.h"

#include <utility>

namespace agentd::runtime {

void ChildList::started(process::ChildId node, int pid, std::string kind) {
  children_[node] = {.pid = pid, .kind = std::move(kind), .started_ms = clock_.mono_ms()};
  push(node);
}

void ChildList::cancelled(process::ChildId node) {
  children_.at(node).cancelled = true;
  push(node);
}

void ChildList::count_tokens(process::ChildId node, std::uint64_t tokens) { children_.at(node).tokens += tokens; }

void ChildList::reaped(process::ChildId node) {
  children_.erase(node);
  feed_.push(feed::Visibility::operators(), feed::ChildRemoved{std::to_string(node)});
}

std::vector<feed::Child> ChildList::all() const {
  std::vector<feed::Child> out;
  for (const auto& [node, known] : children_) out.push_back(payload(node, known));
  return out;
}

feed::Child ChildList::payload(process::ChildId node, const Known& known) const {
  return {.node = node,
          .pid = static_cast<feed::Count>(known.pid),
          .kind = known.kind,
          .age_ms = static_cast<feed::Count>(clock_.mono_ms() - known.started_ms),
          .tokens = known.tokens,
          .cancelled = known.cancelled};
}

void ChildList::push(process::ChildId node) {
  feed_.push(feed::Visibility::operators(), payload(node, children_.at(node)));
}

}  // namespace agentd::runtime
