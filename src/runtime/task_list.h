// ListTasks: which tasks a page holds, over an index (a2a.md section 3.6).
//
// The order is by status time, newest first, and tasks move while a client pages. So a page token names the moment the first
// page was made, and every later page orders the tasks as they stood then: none is skipped, none comes twice. What was
// created after that moment is not part of the listing.
// Pure. Cost: one pass over the index, and a partial sort of what matches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "a2a/states.h"
#include "base/result.h"
#include "feed/visibility.h"
#include "runtime/task.h"

namespace agentd::runtime {

struct TaskIndex {
  std::string id, principal, context;
  a2a::TaskState state = a2a::TaskState::kSubmitted;
  std::int64_t created_ms = 0;
  std::vector<std::int64_t> status_times;  // ascending, the newest 64; the last is the current one
};

struct TaskQuery {
  std::string context;
  std::optional<a2a::TaskState> state;
  std::optional<std::int64_t> status_after_ms;  // inclusive
  std::size_t page_size = 50;
  std::string page_token;
  TaskView view;
};

struct TaskPage {
  std::vector<std::shared_ptr<const Task>> tasks;
  std::string next_token;
  std::size_t total = 0;
};

// Where a listing stands: after the task `id` in the order as of `as_of_ms`.
struct PagePosition {
  std::int64_t as_of_ms = 0;
  std::int64_t status_ms = 0;
  std::string id;
};
[[nodiscard]] std::string to_token(const PagePosition& position);
[[nodiscard]] std::optional<PagePosition> from_token(const std::string& token);

struct Selection {
  std::vector<std::string> ids;
  std::size_t total = 0;
  std::optional<PagePosition> next;
};
[[nodiscard]] Selection select_page(const std::vector<const TaskIndex*>& visible, const TaskQuery& query,
                                    std::int64_t as_of_ms, const std::optional<PagePosition>& after);

}  // namespace agentd::runtime
