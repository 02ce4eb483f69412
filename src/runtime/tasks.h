// Tasks: the owner of every A2A task. Each change is stored, pushed on the feed and told to the task's streams here, in that
// one call, and nowhere else.
//
//   index (every task, small) ----> live body (in memory until terminal and durable)
//                              \--> body in the store (terminal tasks), read when asked for
//
// Confined to the core thread. Not yours and unknown are one answer (kTaskNotFound), decided on the index alone.
// Cost: a change is one serialisation for the feed, one for the streams and, once a turn, one for the store.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "config/snapshot.h"
#include "feed/feed.h"
#include "runtime/journal.h"
#include "runtime/task.h"
#include "runtime/task_list.h"

namespace agentd::runtime {

// One event of a task's streams: a StreamResponse on one line, and the task's own number for it.
struct TaskEvent {
  std::uint64_t number = 0;
  std::string text;
  bool last = false;  // the stream ends after it
};

// One stream of a task. Called on the core thread, with the same event objects for every listener.
class TaskListener {
 public:
  virtual ~TaskListener() = default;
  virtual void on_event(std::shared_ptr<const TaskEvent> event) = 0;
};

struct NewTask {
  std::string id, principal, context;
  Json message;  // the one that made it; null for none
  Link link;
  std::string command;
};

class Tasks final {
 public:
  Tasks(Journal& journal, feed::Feed& feed, const Clock& clock, config::Retention retention);

  // Reads the index and the live bodies. Pushes nothing. Errors: kUnavailable.
  [[nodiscard]] Status load();
  [[nodiscard]] std::vector<std::string> live() const;

  Task& create(NewTask task);
  void set_state(Task& task, a2a::TaskState state, Json status_message = nullptr);
  void add_message(Task& task, Json message);  // to the history
  // `more`: further chunks of the same artifact follow (lastChunk false).
  void put_artifact(Task& task, const Json& artifact, bool append = false, bool more = false);
  void set_link(Task& task, Link link);
  // Waits with the question from now on: INPUT_REQUIRED. `message` asks it.
  void open_gate(Task& task, Gate gate, Json message);
  // The open gate was answered, by that principal: WORKING again.
  void close_gate(Task& task, const std::string& by);
  // Keeps what its turn has done so far: told to nobody. `lazily`: within 250 ms, or with the next change.
  void keep_work(Task& task, Json work, bool lazily);
  // Whether somebody waits for it or follows it now.
  [[nodiscard]] bool is_attended(const std::string& id) const;

  // A task that has not ended, for those who do its work; null when there is none.
  [[nodiscard]] Task* working(const std::string& id);

  // Errors: kTaskNotFound, kUnavailable.
  [[nodiscard]] Result<std::shared_ptr<const Task>> find(const feed::Viewer& viewer, const std::string& id) const;
  [[nodiscard]] Result<TaskPage> list(const feed::Viewer& viewer, const TaskQuery& query);

  // Calls `settled` once, later, with the task when it is terminal or interrupted and that is durable, or with the store's
  // refusal. The task is not dropped before.
  using Settled = std::move_only_function<void(Result<std::shared_ptr<const Task>>)>;
  void when_settled(const std::string& id, Settled settled);

  // The listener is told the task as it is, then every event until the terminal one; but nothing before the newest
  // message is durable, which being told acknowledges. A listener that is gone is dropped.
  void listen(const std::string& id, std::weak_ptr<TaskListener> listener, bool annotations);

  void set_retention(config::Retention retention) { retention_ = retention; }
  // Drops terminal tasks past the retention, oldest first.
  void enforce_retention();
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    TaskIndex index;
    std::shared_ptr<Task> body;  // null: in the store only
    std::vector<std::weak_ptr<TaskListener>> listeners;
    std::vector<Settled> waiters;
    std::size_t holds = 0;  // messages that are not durable yet
    std::vector<std::pair<std::shared_ptr<TaskListener>, std::shared_ptr<const TaskEvent>>> held;  // until then
  };

  [[nodiscard]] std::int64_t status_time();  // for a change made now
  void changed(Entry& entry, bool lazily);
  void tell(Entry& entry, Json stream_response, bool last);
  void hold(Entry& entry);
  static void give(Entry& entry, std::shared_ptr<TaskListener> listener, std::shared_ptr<const TaskEvent> event);
  void settle(const std::string& id, const Status& durable);
  void release(const std::string& id);
  void append_rows(store::Batch& batch);
  [[nodiscard]] Result<std::shared_ptr<const Task>> body_of(const Entry& entry) const;

  Journal& journal_;
  feed::Feed& feed_;
  const Clock& clock_;
  config::Retention retention_;
  std::unordered_map<std::string, Entry> entries_;
  std::set<std::pair<std::int64_t, std::string>> ended_;  // terminal ones by status time: what retention drops first
  std::set<std::string> dirty_;
  std::vector<std::string> dropped_;
  std::int64_t newest_ms_ = 0;  // the newest status time given
  std::int64_t floor_ms_ = 0;   // status times are past the newest list snapshot, so that its pages stay whole
};

}  // namespace agentd::runtime
