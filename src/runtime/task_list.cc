#include "runtime/task_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace agentd::runtime {
namespace {

struct Place {
  std::int64_t status_ms;
  const std::string* id;
};

// Newest first; equal times by id, so that the order is total.
bool before(const Place& a, const Place& b) {
  if (a.status_ms != b.status_ms) return a.status_ms > b.status_ms;
  return *a.id < *b.id;
}

// The task's status time as it was at `as_of_ms`; nothing when it did not exist then.
std::optional<std::int64_t> status_time_at(const TaskIndex& task, std::int64_t as_of_ms) {
  const auto later = std::ranges::upper_bound(task.status_times, as_of_ms);
  if (later != task.status_times.begin()) return *std::prev(later);
  // Older times than the kept ones: the creation stands for them.
  if (task.created_ms <= as_of_ms) return task.created_ms;
  return std::nullopt;
}

bool matches(const TaskIndex& task, const TaskQuery& query) {
  if (!query.context.empty() && task.context != query.context) return false;
  if (query.state && task.state != *query.state) return false;
  return !query.status_after_ms || task.status_times.back() >= *query.status_after_ms;
}

std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data() + text.size() || *end != '.') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return value;
}

}  // namespace

std::string to_token(const PagePosition& position) {
  return fmt::format("{}.{}.{}", position.as_of_ms, position.status_ms, position.id);
}

std::optional<PagePosition> from_token(const std::string& token) {
  std::string_view rest = token;
  const auto as_of = take_number(rest);
  const auto status = as_of ? take_number(rest) : std::nullopt;
  if (!status || rest.empty()) return std::nullopt;
  return PagePosition{.as_of_ms = *as_of, .status_ms = *status, .id = std::string(rest)};
}

Selection select_page(const std::vector<const TaskIndex*>& visible, const TaskQuery& query, std::int64_t as_of_ms,
                      const std::optional<PagePosition>& after) {
  Selection out;
  std::vector<Place> rest;
  for (const TaskIndex* task : visible) {
    if (!matches(*task, query)) continue;
    const auto time = status_time_at(*task, as_of_ms);
    if (!time) continue;
    ++out.total;
    const Place place{*time, &task->id};
    if (!after || before(Place{after->status_ms, &after->id}, place)) rest.push_back(place);
  }
  const std::size_t shown = std::min(query.page_size, rest.size());
  std::ranges::partial_sort(rest, rest.begin() + static_cast<std::ptrdiff_t>(shown), before);
  for (std::size_t i = 0; i < shown; ++i) out.ids.push_back(*rest[i].id);
  if (shown < rest.size()) {
    out.next = PagePosition{.as_of_ms = as_of_ms, .status_ms = rest[shown - 1].status_ms, .id = *rest[shown - 1].id};
  }
  return out;
}

}  // namespace agentd::runtime
