#include "runtime/tasks.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"

namespace agentd::runtime {
namespace {

constexpr std::size_t kStates = 64;

std::unexpected<Error> not_found(const std::string& id) {
  return fail(Code::kTaskNotFound, "there is no task " + quote_json(cut_text(id, 100)) + " that you may see");
}

feed::Visibility visibility(const std::string& principal) { return feed::Visibility::owner(principal); }

bool is_settled(a2a::TaskState state) { return a2a::is_terminal(state) || a2a::is_interrupted(state); }

TaskIndex index_of(const Task& task) {
  TaskIndex index{.id = task.id,
                  .principal = task.principal,
                  .context = task.context,
                  .state = task.state,
                  .created_ms = task.created_ms};
  for (const StateEntry& entry : task.states) index.status_times.push_back(entry.at_ms);
  return index;
}

}  // namespace

Tasks::Tasks(Journal& journal, feed::Feed& feed, const Clock& clock, config::Retention retention)
    : journal_(journal), feed_(feed), clock_(clock), retention_(retention) {
  journal_.add_source([this](store::Batch& batch) { append_rows(batch); });
}

Status Tasks::load() {
  auto rows = journal_.store().tasks();
  if (!rows) return std::unexpected(rows.error());
  for (const store::TaskRow& row : *rows) {
    const auto state = a2a::task_state(row.state);
    if (!state) return fail(Code::kUnavailable, "the store holds task " + row.id + " in an unknown state " + row.state);
    Entry entry;
    entry.index = {.id = row.id,
                   .principal = row.principal,
                   .context = row.context,
                   .state = *state,
                   .created_ms = row.created_ms,
                   .status_times = {row.status_ms}};
    if (a2a::is_terminal(*state)) {
      ended_.emplace(row.status_ms, row.id);
    } else {
      auto task = from_row(row);
      if (!task) return std::unexpected(task.error());
      entry.index = index_of(*task);
      entry.body = std::make_shared<Task>(std::move(*task));
    }
    newest_ms_ = std::max(newest_ms_, row.status_ms);
    entries_.emplace(row.id, std::move(entry));
  }
  return {};
}

std::vector<std::string> Tasks::live() const {
  std::vector<std::string> out;
  for (const auto& [id, entry] : entries_) {
    if (!a2a::is_terminal(entry.index.state)) out.push_back(id);
  }
  return out;
}

Task& Tasks::create(NewTask fresh) {
  auto task = std::make_shared<Task>();
  task->id = std::move(fresh.id);
  task->principal = std::move(fresh.principal);
  task->context = std::move(fresh.context);
  task->link = std::move(fresh.link);
  task->command = std::move(fresh.command);
  task->created_ms = task->status_ms = status_time();
  task->states.push_back({task->state, task->status_ms});
  task->events = 1;
  if (!fresh.message.is_null()) add_to_history(*task, std::move(fresh.message));
  auto [at, inserted] = entries_.emplace(task->id, Entry{.index = index_of(*task), .body = task});
  AGENTD_CHECK(inserted, "a task id was used twice");
  hold(at->second);
  changed(at->second, false);
  return *task;
}

void Tasks::set_state(Task& task, a2a::TaskState state, Json status_message) {
  AGENTD_CHECK(!a2a::is_terminal(task.state), "a task that has ended does not change");
  Entry& entry = entries_.at(task.id);
  task.state = state;
  task.status_message = std::move(status_message);
  task.status_ms = std::max(status_time(), task.status_ms);
  // Another word in the same state is no other state.
  if (task.states.empty() || task.states.back().state != state) task.states.push_back({state, task.status_ms});
  if (task.states.size() > kStates) task.states.erase(task.states.begin());
  entry.index = index_of(task);
  const bool last = a2a::is_terminal(state);
  tell(entry, {{"statusUpdate", {{"taskId", task.id}, {"contextId", task.context}, {"status", status_json(task)}}}},
       last);
  changed(entry, false);
  if (last) ended_.emplace(task.status_ms, task.id);
  if (is_settled(state)) {
    journal_.when_durable([this, id = task.id](const Status& durable) { settle(id, durable); });
  }
}

void Tasks::add_message(Task& task, Json message) {
  Entry& entry = entries_.at(task.id);
  add_to_history(task, std::move(message));
  hold(entry);
  changed(entry, false);
}

void Tasks::put_artifact(Task& task, const Json& artifact, bool append, bool more) {
  AGENTD_CHECK(merge_artifact(task.artifacts, artifact, append), "parts were added to an artifact that is not there");
  Entry& entry = entries_.at(task.id);
  Json update = {{"taskId", task.id}, {"contextId", task.context}, {"artifact", artifact}};
  if (append) update["append"] = true;
  update["lastChunk"] = !more;
  tell(entry, {{"artifactUpdate", std::move(update)}}, false);
  changed(entry, more);
}

void Tasks::set_link(Task& task, Link link) {
  task.link = std::move(link);
  changed(entries_.at(task.id), false);
}

void Tasks::open_gate(Task& task, Gate gate, Json message) {
  const bool signs_in = gate.kind == Gate::Kind::kSignIn;
  task.gate = std::move(gate);
  add_to_history(task, message);
  set_state(task, signs_in ? a2a::TaskState::kAuthRequired : a2a::TaskState::kInputRequired, std::move(message));
}

void Tasks::close_gate(Task& task, const std::string& by) {
  task.gate->answered_by = by;
  task.gate->answered_ms = clock_.wall_ms();
  set_state(task, a2a::TaskState::kWorking);
}

void Tasks::keep_work(Task& task, Json work, bool lazily) {
  task.work = std::move(work);
  dirty_.insert(task.id);
  lazily ? journal_.touched_lazily() : journal_.touched();
}

bool Tasks::is_attended(const std::string& id) const {
  const Entry& entry = entries_.at(id);
  const auto follows = [](const std::weak_ptr<TaskListener>& listener) { return !listener.expired(); };
  return !entry.waiters.empty() || std::ranges::any_of(entry.listeners, follows);
}

Task* Tasks::working(const std::string& id) {
  const auto at = entries_.find(id);
  if (at == entries_.end() || a2a::is_terminal(at->second.index.state)) return nullptr;
  return at->second.body.get();
}

std::int64_t Tasks::status_time() {
  newest_ms_ = std::max({clock_.wall_ms(), floor_ms_, newest_ms_});
  return newest_ms_;
}

void Tasks::changed(Entry& entry, bool lazily) {
  const Task& task = *entry.body;
  dirty_.insert(task.id);
  lazily ? journal_.touched_lazily() : journal_.touched();
  feed_.push(visibility(task.principal), feed::Task{.task = task_json(task), .annotations = annotations_json(task)});
}

void Tasks::tell(Entry& entry, Json stream_response, bool last) {
  const std::uint64_t number = ++entry.body->events;
  std::erase_if(entry.listeners, [](const auto& listener) { return listener.expired(); });
  if (entry.listeners.empty()) return;
  auto event = std::make_shared<TaskEvent>();
  event->number = number;
  event->text = dump_json(stream_response);
  event->last = last;
  for (const auto& weak : entry.listeners) {
    if (auto listener = weak.lock()) give(entry, std::move(listener), event);
  }
}

void Tasks::give(Entry& entry, std::shared_ptr<TaskListener> listener, std::shared_ptr<const TaskEvent> event) {
  if (entry.holds == 0) return listener->on_event(std::move(event));
  entry.held.emplace_back(std::move(listener), std::move(event));
}

void Tasks::hold(Entry& entry) {
  ++entry.holds;
  journal_.once_durable([this, id = entry.index.id] {
    const auto at = entries_.find(id);
    if (at == entries_.end() || --at->second.holds > 0) return;
    for (auto& [listener, event] : std::exchange(at->second.held, {})) listener->on_event(std::move(event));
  });
}

void Tasks::listen(const std::string& id, std::weak_ptr<TaskListener> listener, bool annotations) {
  Entry& entry = entries_.at(id);
  const Task& task = *entry.body;
  Json shown = task_json(task);
  if (annotations) shown = annotated(std::move(shown), task);
  auto event = std::make_shared<TaskEvent>();
  event->number = task.events;
  event->text = dump_json({{"task", std::move(shown)}});
  event->last = a2a::is_terminal(task.state);
  if (auto told = listener.lock()) give(entry, std::move(told), std::move(event));
  entry.listeners.push_back(std::move(listener));
}

void Tasks::append_rows(store::Batch& batch) {
  for (const std::string& id : dirty_) {
    const auto at = entries_.find(id);
    if (at == entries_.end()) continue;  // dropped in the same turn
    batch.emplace_back(to_row(*at->second.body));
    if (a2a::is_terminal(at->second.index.state)) {
      journal_.once_durable([this, id] { release(id); });
    }
  }
  dirty_.clear();
  for (std::string& id : dropped_) batch.emplace_back(store::DropTask{std::move(id)});
  dropped_.clear();
}

// The store has it now; memory need not.
void Tasks::release(const std::string& id) {
  const auto at = entries_.find(id);
  if (at == entries_.end() || dirty_.contains(id)) return;
  at->second.body.reset();
  at->second.listeners.clear();
}

Result<std::shared_ptr<const Task>> Tasks::body_of(const Entry& entry) const {
  if (entry.body) return entry.body;
  auto row = journal_.store().task(entry.index.id);
  if (!row) return std::unexpected(row.error());
  if (!*row) return not_found(entry.index.id);
  auto task = from_row(**row);
  if (!task) return std::unexpected(task.error());
  return std::make_shared<const Task>(std::move(*task));
}

Result<std::shared_ptr<const Task>> Tasks::find(const feed::Viewer& viewer, const std::string& id) const {
  const auto at = entries_.find(id);
  if (at == entries_.end() || !feed::may_see(viewer, visibility(at->second.index.principal))) return not_found(id);
  return body_of(at->second);
}

Result<TaskPage> Tasks::list(const feed::Viewer& viewer, const TaskQuery& query) {
  std::optional<PagePosition> after;
  if (!query.page_token.empty()) {
    after = from_token(query.page_token);
    if (!after) {
      return std::unexpected(Error{.code = Code::kInvalidParams,
                                   .message = "params.pageToken is not one of this server's",
                                   .violations = {{"params.pageToken", "must be a nextPageToken of an earlier page"}}});
    }
  }
  const std::int64_t as_of = after ? after->as_of_ms : std::max(clock_.wall_ms(), newest_ms_);
  if (!after) floor_ms_ = std::max(floor_ms_, as_of + 1);
  std::vector<const TaskIndex*> visible;
  for (const auto& [id, entry] : entries_) {
    if (feed::may_see(viewer, visibility(entry.index.principal))) visible.push_back(&entry.index);
  }
  const Selection selection = select_page(visible, query, as_of, after);
  TaskPage page{.tasks = {}, .next_token = selection.next ? to_token(*selection.next) : "", .total = selection.total};
  for (const std::string& id : selection.ids) {
    auto task = body_of(entries_.at(id));
    if (!task) return std::unexpected(task.error());
    page.tasks.push_back(std::move(*task));
  }
  return page;
}

void Tasks::when_settled(const std::string& id, Settled settled) {
  Entry& entry = entries_.at(id);
  entry.waiters.push_back(std::move(settled));
  if (is_settled(entry.index.state)) {
    journal_.when_durable([this, id](const Status& durable) { settle(id, durable); });
  }
}

void Tasks::settle(const std::string& id, const Status& durable) {
  const auto at = entries_.find(id);
  if (at == entries_.end()) return;
  Entry& entry = at->second;
  // What changed since is not durable; a later call is on its way for it.
  const bool outdated = durable && dirty_.contains(id);
  if (is_settled(entry.index.state) && !outdated) {
    const auto answer = durable ? body_of(entry) : std::unexpected(durable.error());
    for (Settled& settled : std::exchange(entry.waiters, {})) settled(answer);
  }
  enforce_retention();
}

void Tasks::enforce_retention() {
  const std::int64_t now = clock_.wall_ms();
  for (auto at = ended_.begin(); at != ended_.end();) {
    const bool old = retention_.ttl_ms > 0 && at->first + retention_.ttl_ms <= now;
    if (!old && ended_.size() <= retention_.keep_last) break;
    const auto entry = entries_.find(at->second);
    const bool awaited = entry != entries_.end() && (!entry->second.waiters.empty() || !entry->second.held.empty());
    if (awaited || dirty_.contains(at->second)) {
      ++at;  // somebody waits to read it, or it is not yet written
      continue;
    }
    if (entry != entries_.end()) {
      feed_.push(visibility(entry->second.index.principal), feed::TaskRemoved{at->second});
      entries_.erase(entry);
    }
    dropped_.push_back(at->second);
    at = ended_.erase(at);
  }
  if (!dropped_.empty()) journal_.touched();
}

}  // namespace agentd::runtime
