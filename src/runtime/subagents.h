// Subagents: other agent processes that work for this one (runtime.md): tools `subagent_run` and `subagent_send`.
//
//   turn --use--> subagent --ask, use--> model and tools of the daemon
//                    \--use subagent_run--> subagent …
//
// Each is a child process of the same binary, supervised like every other, which keeps the conversation and has nothing
// else: its questions to the model, and its uses of tools, are made here, by its parent's rights, narrowed. It dies with
// its turn when that is cancelled, and with the daemon. One that has answered stays warm for a while and takes messages.
// Confined to the core thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "feed/feed.h"
#include "llm/remote.h"
#include "net/loop.h"
#include "process/child.h"
#include "runtime/budgets.h"
#include "runtime/child_list.h"
#include "runtime/instance.h"
#include "runtime/settings.h"
#include "runtime/tools.h"

namespace agentd::runtime {

struct SubagentFacts {
  std::string handle;
  std::string mode;    // sync or detached
  std::string status;  // running completed failed cancelled killed crashed
  std::string instruction;
  std::string result = {}, error = {};
  std::string parent;  // handle of the subagent that started it; "" = a turn did
  std::string principal, context, task;
  std::uint64_t tokens = 0;  // its own
  std::int64_t created_ms = 0, updated_ms = 0;
  process::ChildId node = 0;
  std::uint64_t depth = 1;
};

// What subagents use; all of it outlives them.
struct SubagentParts {
  net::Loop& loop;
  feed::Feed& feed;
  const Clock& clock;
  process::Children& processes;
  ChildList& children;
  Instance& instance;
  Tools& tools;
  Budgets& budgets;
  const Settings& settings;
  std::function<std::shared_ptr<llm::RemoteModel>()> model;  // null: there is none that chats
};

class Subagents final : public ToolSource {
 public:
  explicit Subagents(SubagentParts parts);
  ~Subagents() override;

  void list(std::vector<ToolFacts>& out) const override;
  [[nodiscard]] std::unique_ptr<ToolUse> use(ToolRequest request, ToolListener listener) override;

  // One more message for it. Errors: kTaskNotFound (unknown, or not the viewer's), kUnsupportedOperation (it has ended).
  [[nodiscard]] Status send(const feed::Viewer& viewer, const std::string& handle, const std::string& message);
  // Errors: kTaskNotFound, kTaskNotCancelable.
  [[nodiscard]] Status kill(const feed::Viewer& viewer, const std::string& handle, const std::string& reason);
  // Ends those that work for the task, at any depth.
  void cancel_task(const std::string& task);
  // Goes on with what was held back while the instance was paused.
  void go_on();
  // Those of a conversation that is gone leave with it, or when they have ended.
  void forget(const std::string& principal, const std::string& context);
  void stop();

  // Null when there is none that the viewer may see. Those that have ended are kept, the newest 200.
  [[nodiscard]] const SubagentFacts* find(const feed::Viewer& viewer, const std::string& handle) const;
  [[nodiscard]] std::vector<feed::Subagent> all() const;
  [[nodiscard]] static feed::Subagent payload(const SubagentFacts& facts);

 private:
  struct Agent;
  class Use;

  // Errors: why not, for the model to read.
  [[nodiscard]] Result<std::string> start(const ToolRequest& request);
  [[nodiscard]] Result<std::string> waiting_for(const ToolRequest& request);
  // Whether it would wait for one that waits for it.
  [[nodiscard]] bool would_deadlock(const std::string& waiting, const std::string& handle) const;
  [[nodiscard]] bool make_room();
  [[nodiscard]] Status spawn(Agent& agent);
  [[nodiscard]] Agent* at(const std::string& handle);
  [[nodiscard]] const Agent* at(const std::string& handle) const;
  [[nodiscard]] Agent* visible(const feed::Viewer& viewer, const std::string& handle);
  void set_to_work(Agent& agent, Json line);
  void bound_time(Agent& agent);
  void close(Agent& agent);
  void rest(Agent& agent, const std::string& result);  // it has answered, and is warm
  void end(Agent& agent, const std::string& status, const std::string& error);
  void reaped(Agent& agent, const process::ChildResult& result);
  void tell(Agent& agent);  // who waits for it
  void changed(Agent& agent);
  void forget_oldest();
  void remove(const std::string& handle);

  // What it says, and is told (runtime/subagent_work.cc).
  [[nodiscard]] std::vector<ToolFacts> tools_of(const Agent& agent) const;
  void take_line(Agent& agent, std::string_view text);
  void ask(Agent& agent, std::vector<llm::ChatMessage> messages);
  void take(Agent& agent, Result<llm::Completion> completion);
  void use_tool(Agent& agent, const llm::ToolCall& call);
  void ask_leave(Agent& agent, const llm::ToolCall& call);
  void begin_uses(Agent& agent);
  void begin_use(Agent& agent, const llm::ToolCall& call);
  [[nodiscard]] ToolListener listener_of(const Agent& agent, const llm::ToolCall& call);
  void give_result(Agent& agent, const llm::ToolCall& call, const ToolOutcome& outcome);
  [[nodiscard]] std::optional<std::string> spend(Agent& agent, const llm::Usage& usage, double usd);
  void say(Agent& agent, const Json& line);

  const SubagentParts parts_;
  std::map<std::string, std::unique_ptr<Agent>> agents_;  // by handle
  std::uint64_t last_waiter_ = 0;
};

}  // namespace agentd::runtime
