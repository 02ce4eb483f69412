// Runs: the owner of every workflow run. It starts steps, watches their processes, and carries each end to the store, the feed
// and the task that the run works for.
//
// A step is durable as running before its process starts, and durable as ended before anybody is told or anything that
// needs it starts: a step that was seen to complete is never run again, one that was cut off by a crash is tried again
// with attempt + 1.
// Confined to the core thread.
#pragma once

#include <cstdint>
#include <deque>
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
#include "process/child.h"
#include "runtime/child_list.h"
#include "runtime/instance.h"
#include "runtime/journal.h"
#include "runtime/run.h"
#include "runtime/tasks.h"
#include "schema/validator.h"
#include "workflow/model.h"

namespace agentd::runtime {

[[nodiscard]] std::string fresh_run_id();  // "run-" and 16 hex digits

struct StartRun {
  std::string id = fresh_run_id();
  std::string workflow;
  Json inputs = Json::object();
  std::string start;  // "command" or "message"
  std::string principal;
  std::string task;  // must be live; it follows the run
};

class Runs final {
 public:
  Runs(process::Children& processes, ChildList& children, Journal& journal, feed::Feed& feed, const Clock& clock,
       Tasks& tasks, Instance& instance, const std::vector<std::shared_ptr<const workflow::Workflow>>& workflows,
       config::Retention retention);

  [[nodiscard]] Status load();  // pushes nothing
  void resume();                // goes on with what an earlier life left
  void stop();                  // kills what runs, and leaves it to be resumed by the next life

  // Errors: kInvalidParams (unknown workflow, inputs that miss its schema). The paths are those that the violations have.
  [[nodiscard]] Status check(const std::string& workflow, const Json& inputs, const std::string& workflow_path,
                             const std::string& inputs_path) const;
  // What was checked. Returns the run's id; the task is linked to it and working.
  std::string start(StartRun request);
  // Ends it within about a second; the run's end is told like any other.
  void cancel(const std::string& run);
  // Of a run at work: no step of it starts any more, until it is resumed; what has started goes on. Durable.
  void pause(const std::string& run) { set_paused(run, true); }
  void unpause(const std::string& run) { set_paused(run, false); }
  // Goes on with what was held back while the instance was paused.
  void go_on();

  void set_retention(config::Retention retention) { retention_ = retention; }
  // The workflows that can be started from now on. Runs at work go on with theirs.
  void set_workflows(const std::vector<std::shared_ptr<const workflow::Workflow>>& workflows);
  // Drops ended runs past the retention, oldest first.
  void enforce_retention();

  [[nodiscard]] std::size_t live() const { return live_.size(); }
  [[nodiscard]] std::size_t steps_at_work() const { return started_.size(); }  // as processes
  // The run, if it is at work and the viewer may see it.
  [[nodiscard]] const Run* working(const feed::Viewer& viewer, const std::string& run) const;
  // Its facts, at work or ended, if the viewer may see it. Errors: kTaskNotFound, the same for one that is somebody else's;
  // kUnavailable when the store cannot be read. One that has ended is read there, with its steps {id: state}.
  struct Whole {
    RunFacts facts;
    std::map<std::string, Json> steps;
  };
  [[nodiscard]] Result<Whole> find(const feed::Viewer& viewer, const std::string& run, bool with_steps) const;
  // Calls `seen` with each of the newest `limit` runs that the viewer may see, newest first. The newest 500 that ended are kept
  // in memory, without inputs, and unless their output is long; others are read from the store.
  void newest(const feed::Viewer& viewer, std::size_t limit, const std::function<void(const RunFacts&)>& seen) const;
  [[nodiscard]] std::size_t count(const feed::Viewer& viewer) const;
  struct Known {
    std::shared_ptr<const workflow::Workflow> workflow;
    std::shared_ptr<const schema::Validator> inputs;  // null: anything goes
    std::shared_ptr<const schema::Validator> args;    // of the op that it declares; null: anything goes
  };
  [[nodiscard]] const std::map<std::string, Known>& workflows() const { return workflows_; }

 private:
  struct Ended {
    std::string principal;
    std::optional<RunFacts> facts = {};  // until they are in the store, and while they are kept
    bool written = true;
  };
  struct Started {
    std::string run, step;
  };

  void advance(const std::string& id);
  void set_paused(const std::string& run, bool paused);
  void start_step(Run& run, const std::string& step);
  void spawn(const std::string& id, const std::string& step);
  void child_ended(process::ChildId child, bool json_output, const process::ChildResult& result);
  void finish_step(Run& run, const std::string& step);
  void end_step(Run& run, const std::string& step, StepEnd end);
  void changed(Run& run);
  void finish(const std::string& id);
  void forget(const std::string& id);
  void tell_task(const RunFacts& facts);
  void append_rows(store::Batch& batch);

  process::Children& processes_;
  ChildList& children_;
  Journal& journal_;
  feed::Feed& feed_;
  const Clock& clock_;
  Tasks& tasks_;
  Instance& instance_;
  config::Retention retention_;
  std::map<std::string, Known> workflows_;
  std::unordered_map<std::string, Run> live_;
  mutable std::unordered_map<std::string, Ended> ended_;  // mutable: facts that were read are kept
  std::set<std::pair<std::int64_t, std::string>> ended_by_age_;
  std::map<process::ChildId, Started> started_;
  std::deque<std::pair<std::string, std::string>> waiting_;  // run, step: for a free place among the processes
  std::set<std::string> dirty_;
  store::Batch pending_;  // last rows of ended runs, and drops
  bool stopping_ = false;
};

}  // namespace agentd::runtime
