#include "runtime/subagents.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/glob.h"
#include "base/ids.h"
#include "runtime/gate.h"
#include "runtime/subagent_tools.h"
#include "runtime/subagent_worker.h"
#include "runtime/transcript.h"

namespace agentd::runtime {
namespace {

constexpr char kSync[] = "sync";
constexpr char kDetached[] = "detached";
constexpr char kRunning[] = "running";
constexpr char kCompleted[] = "completed";
constexpr std::size_t kKept = 200;  // that have ended
constexpr std::int64_t kWarmMs = 600'000;
constexpr std::size_t kResultBytes = 32U << 10U;  // of a tool, to its model
constexpr std::size_t kShownArguments = 2'000;

constexpr std::string_view kInstructions =
    "You are a subagent: an agent that works for another one. Do what you are told, with the tools that you have, and "
    "answer "
    "with the result alone. Nobody reads what you say before it.";

std::unexpected<Error> unknown() { return fail(Code::kTaskNotFound, "there is no such subagent, or it is not yours"); }

ToolOutcome outcome_of(const SubagentFacts& facts) {
  if (facts.status == kCompleted) return {.text = fmt::format("{} (subagent {})", facts.result, facts.handle)};
  return {.text = fmt::format("Subagent {} {}: {}", facts.handle, facts.status, facts.error), .is_error = true};
}

}  // namespace

struct Subagents::Agent {
  explicit Agent(net::Loop& loop) : cooling(loop) {}

  SubagentFacts facts;
  std::vector<std::string> globs;  // of its tools; none: all
  std::uint64_t most_tokens = 0;   // 0 = none of its own
  std::shared_ptr<llm::RemoteModel> model;
  llm::Question question;
  struct Using {
    std::string tool;
    std::unique_ptr<ToolUse> use;
  };
  std::map<std::string, Using> uses;  // by call
  // Of whom it works for, while that one waits: null otherwise.
  std::function<void(mcp::Elicitation)> elicit;
  std::function<std::optional<std::string>(const llm::Usage&, double usd)> spent;
  std::move_only_function<void(ToolOutcome)> done;
  net::Timer cooling;  // a warm one ends after it
  bool has_process = false;
  bool is_leaving = false;  // its conversation is gone

  [[nodiscard]] bool is_running() const { return facts.status == kRunning; }
  [[nodiscard]] bool is_warm() const { return has_process && facts.status == kCompleted; }
};

// Whoever waits for a subagent. A sync one ends with who waits for it.
class Subagents::Use final : public ToolUse {
 public:
  Use(Subagents& all, std::string handle) : all_(all), handle_(std::move(handle)) {}
  ~Use() override {
    Agent* agent = all_.at(handle_);
    if (agent == nullptr || !agent->done) return;  // it was told
    agent->done = nullptr;
    agent->elicit = nullptr;
    agent->spent = nullptr;
    if (agent->is_running() && agent->facts.mode == kSync)
      all_.end(*agent, "cancelled", "whoever it worked for was cancelled");
  }

 private:
  Subagents& all_;
  const std::string handle_;
};

Subagents::Subagents(SubagentParts parts) : parts_(std::move(parts)) {}
Subagents::~Subagents() = default;

void Subagents::list(std::vector<ToolFacts>& out) const {
  if (parts_.settings.now().agent.max_subagent_depth == 0 || !parts_.model()) return;
  for (const llm::ToolSpec& spec : {subagent_run_spec(), subagent_send_spec()}) {
    out.push_back({.spec = spec, .read_only = true, .is_own = true});
  }
}

const Subagents::Agent* Subagents::at(const std::string& handle) const {
  const auto found = agents_.find(handle);
  return found == agents_.end() ? nullptr : found->second.get();
}

Subagents::Agent* Subagents::at(const std::string& handle) {
  return const_cast<Agent*>(std::as_const(*this).at(handle));  // NOLINT(cppcoreguidelines-pro-type-const-cast): ours
}

Subagents::Agent* Subagents::visible(const feed::Viewer& viewer, const std::string& handle) {
  Agent* agent = at(handle);
  const bool seen = agent != nullptr && feed::may_see(viewer, feed::Visibility::owner(agent->facts.principal));
  return seen ? agent : nullptr;
}

std::vector<ToolFacts> Subagents::tools_of(const Agent& agent) const {
  std::vector<ToolFacts> out = parts_.tools.all();
  const bool may_start = agent.facts.depth < parts_.settings.now().agent.max_subagent_depth;
  std::erase_if(out, [&](const ToolFacts& tool) {
    const std::string& name = tool.spec.name;
    if (!may_start && (name == kSubagentRun || name == kSubagentSend)) return true;
    return !agent.globs.empty() &&
           std::ranges::none_of(agent.globs, [&](const std::string& glob) { return matches_glob(glob, name); });
  });
  return out;
}

std::unique_ptr<ToolUse> Subagents::use(ToolRequest request, ToolListener listener) {
  auto handle = request.name == kSubagentRun ? start(request) : waiting_for(request);
  if (!handle) {
    return done_use(parts_.loop, {.text = handle.error().message, .is_error = true}, std::move(listener));
  }
  Agent& agent = *at(*handle);
  if (request.name == kSubagentRun && agent.facts.mode == kDetached) {
    return done_use(parts_.loop,
                    {.text = fmt::format("Subagent {} has begun. Ask for its result with {}.", *handle, kSubagentSend)},
                    std::move(listener));
  }
  if (!agent.is_running()) return done_use(parts_.loop, outcome_of(agent.facts), std::move(listener));
  agent.elicit = std::move(listener.elicit);
  agent.spent = std::move(listener.spent);
  agent.done = std::move(listener.done);
  return std::make_unique<Use>(*this, *handle);
}

Result<std::string> Subagents::start(const ToolRequest& request) {
  const auto& limits = parts_.settings.now().agent;
  const Agent* parent = at(request.subagent);
  const std::uint64_t depth = parent == nullptr ? 1 : parent->facts.depth + 1;
  if (depth > limits.max_subagent_depth) {
    return fail(Code::kUnavailable,
                fmt::format("Subagents may be {} deep here, and no deeper.", limits.max_subagent_depth));
  }
  if (!make_room()) {
    return fail(Code::kUnavailable, fmt::format("{} subagents are at work, and no more may be.", limits.max_subagents));
  }
  auto agent = std::make_unique<Agent>(parts_.loop);
  agent->facts = {.handle = "sub-" + random_hex(8),
                  .mode = request.arguments.value("mode", kSync),
                  .status = kRunning,
                  .instruction = request.arguments.at("instruction"),
                  .parent = request.subagent,
                  .principal = request.principal,
                  .context = request.context,
                  .task = request.task,
                  .created_ms = parts_.clock.wall_ms(),
                  .depth = depth};
  agent->globs = request.arguments.value("tools", std::vector<std::string>{});
  // What its parent may not use, it may not either.
  if (parent != nullptr && agent->globs.empty()) agent->globs = parent->globs;
  agent->most_tokens = request.arguments.value("tokens", std::uint64_t{0});
  agent->model = parts_.model();
  std::string handle = agent->facts.handle;
  if (const Status begun = spawn(*agent); !begun) return std::unexpected(begun.error());
  Agent& known = *agents_.emplace(handle, std::move(agent)).first->second;
  changed(known);
  say(known, {{"begin", {{"instruction", known.facts.instruction}}}});
  return handle;
}

// Of the task's own, or of what works for it: any other is unknown to it.
Result<std::string> Subagents::waiting_for(const ToolRequest& request) {
  std::string handle = request.arguments.at("handle");
  Agent* agent = at(handle);
  if (agent == nullptr || agent->facts.principal != request.principal || agent->facts.context != request.context) {
    return fail(Code::kTaskNotFound, "There is no such subagent.");
  }
  if (agent->done) return fail(Code::kUnavailable, "Somebody waits for it already.");
  const std::string message = request.arguments.value("message", "");
  if (message.empty()) return handle;
  if (!agent->is_running() && !agent->is_warm()) {
    return fail(Code::kUnavailable, fmt::format("It has ended ({}); start another one.", agent->facts.status));
  }
  agent->cooling.cancel();
  agent->facts.status = kRunning;
  changed(*agent);
  say(*agent, {{"say", {{"text", message}}}});
  return handle;
}

// Ends the warm one that has rested longest when all places are taken.
bool Subagents::make_room() {
  const auto alive = [](const auto& entry) { return entry.second->has_process; };
  const auto count = static_cast<std::uint64_t>(std::ranges::count_if(agents_, alive));
  if (count < parts_.settings.now().agent.max_subagents) return true;
  Agent* oldest = nullptr;
  for (const auto& [handle, agent] : agents_) {
    if (agent->is_warm() && (oldest == nullptr || agent->facts.updated_ms < oldest->facts.updated_ms))
      oldest = agent.get();
  }
  if (oldest == nullptr) return false;
  parts_.processes.close_input(oldest->facts.node);
  oldest->has_process = false;
  return true;
}

Status Subagents::spawn(Agent& agent) {
  process::ChildSpec spec{.argv = {"/proc/self/exe", "subagent"}, .env = process::base_environment()};
  spec.on_line = [this, handle = agent.facts.handle](std::string_view line) {
    if (Agent* known = at(handle)) take_line(*known, line);
  };
  auto started =
      parts_.processes.spawn(std::move(spec), [this, handle = agent.facts.handle](const process::ChildResult& end) {
        if (Agent* known = at(handle)) reaped(*known, end);
      });
  if (!started) return std::unexpected(std::move(started.error()));
  agent.facts.node = started->id;
  agent.has_process = true;
  parts_.children.started(started->id, started->pid, "subagent:" + agent.facts.handle);
  return {};
}

void Subagents::take_line(Agent& agent, std::string_view text) {
  if (!agent.is_running()) return;
  constexpr char kProtocol[] = "its process said what is no part of the protocol";
  const auto line = parse_json(text, {.bytes = 16U << 20U});
  if (!line) return end(agent, "failed", kProtocol);
  try {
    if (line->contains("ask")) return ask(agent, messages_from_json(line->at("ask").at("messages")));
    if (line->contains("use")) return use_tool(agent, call_from_json(line->at("use")));
    if (line->contains("done")) return rest(agent, line->at("done").at("text"));
  } catch (const Json::exception&) {
    return end(agent, "failed", kProtocol);
  }
  end(agent, "failed", kProtocol);
}

void Subagents::ask(Agent& agent, std::vector<llm::ChatMessage> messages) {
  if (const auto why = spend(agent, {}, 0)) return end(agent, "failed", "Stopped: " + *why + ".");
  llm::ChatRequest request{.instructions = std::string(kInstructions), .messages = std::move(messages)};
  for (ToolFacts& tool : tools_of(agent)) request.tools.push_back(std::move(tool.spec));
  Transcript::shorten(request.messages, agent.model->model().context_tokens / 2);
  agent.question = agent.model->ask(
      request, {.text = [](std::string_view) {},
                .again = [](const Error&, std::int64_t) {},
                .done = [this, &agent](Result<llm::Completion> completion) { take(agent, std::move(completion)); }});
}

std::optional<std::string> Subagents::spend(Agent& agent, const llm::Usage& usage, double usd) {
  const std::uint64_t tokens = usage.input + usage.output;
  agent.facts.tokens += tokens;
  if (tokens > 0) {
    if (agent.has_process) parts_.children.count_tokens(agent.facts.node, tokens);
    changed(agent);
  }
  if (agent.most_tokens > 0 && agent.facts.tokens >= agent.most_tokens) {
    return fmt::format("{} of {} tokens of this subagent are used", agent.facts.tokens, agent.most_tokens);
  }
  // Its turn counts what all below it use; one that nobody waits for is bound by the day's budget.
  return agent.spent ? agent.spent(usage, usd) : parts_.budgets.exhausted({});
}

void Subagents::take(Agent& agent, Result<llm::Completion> completion) {
  if (!completion) return end(agent, "failed", completion.error().message);
  const auto why = spend(agent, completion->usage, parts_.budgets.spend(agent.model->model().name, completion->usage));
  if (completion->stop == llm::Completion::Stop::kLength) {
    return end(agent, "failed", "the model's answer was cut off at agent.model.max_tokens");
  }
  if (why && !completion->calls.empty()) return end(agent, "failed", "Stopped: " + *why + ".");
  make_ids_unique(completion->calls);
  Json calls = Json::array();
  for (const llm::ToolCall& call : completion->calls) calls.push_back(to_json(call));
  say(agent, {{"completion", {{"text", completion->text}, {"calls", std::move(calls)}}}});
}

void Subagents::use_tool(Agent& agent, const llm::ToolCall& call) {
  const auto tools = tools_of(agent);
  const auto tool = std::ranges::find_if(tools, [&](const ToolFacts& known) { return known.spec.name == call.name; });
  if (tool == tools.end()) return give_result(agent, call, {.text = "There is no such tool here.", .is_error = true});
  if (!call.arguments.is_object()) {
    return give_result(agent, call, {.text = "The arguments are not a JSON object.", .is_error = true});
  }
  if (must_be_asked(parts_.settings.now().agent.approval, *tool)) return ask_leave(agent, call);
  begin_use(agent, call);
}

void Subagents::ask_leave(Agent& agent, const llm::ToolCall& call) {
  if (!agent.elicit) {
    return give_result(agent, call,
                       {.text = "It was not allowed: nobody can be asked by a detached subagent.", .is_error = true});
  }
  const std::string question = fmt::format("May subagent {} use the tool {} with {}?", agent.facts.handle, call.name,
                                           cut_text(dump_json(call.arguments), kShownArguments));
  agent.elicit({.message = question,
                .schema = approval_schema(),
                .answer = [this, handle = agent.facts.handle, call](const Json& answer) {
                  Agent* asked = at(handle);
                  if (asked == nullptr || !asked->is_running()) return;
                  const Json content = answer.value("content", Json::object());
                  if (content.value("decision", "") == "approve") return begin_use(*asked, call);
                  const std::string reason = content.value("reason", "");
                  give_result(*asked, call,
                              {.text = reason.empty() ? "It was not allowed." : "It was not allowed: " + reason,
                               .is_error = true});
                }});
}

void Subagents::begin_use(Agent& agent, const llm::ToolCall& call) {
  agent.uses[call.id].tool = call.name;
  parts_.instance.count([](Counters& counters) { ++counters.tool_calls; });
  auto use = parts_.tools.use(
      {.name = call.name,
       .principal = agent.facts.principal,
       .context = agent.facts.context,
       .task = agent.facts.task,
       .subagent = agent.facts.handle,
       .arguments = call.arguments},
      {.elicit = agent.elicit, .spent = agent.spent, .done = [this, &agent, call](const ToolOutcome& outcome) {
         parts_.loop.post([gone = std::move(agent.uses[call.id].use)] {});
         agent.uses.erase(call.id);
         give_result(agent, call, outcome);
       }});
  if (!use) return give_result(agent, call, {.text = "The tool is not there any more.", .is_error = true});
  agent.uses[call.id].use = std::move(use);
}

void Subagents::give_result(Agent& agent, const llm::ToolCall& call, const ToolOutcome& outcome) {
  say(agent, {{"result",
               {{"id", call.id},
                {"text", cut_text(parts_.settings.redactor().redact(outcome.text), kResultBytes)},
                {"isError", outcome.is_error}}}});
}

void Subagents::say(Agent& agent, const Json& line) {
  if (!parts_.processes.write(agent.facts.node, dump_json(line) + "\n"))
    end(agent, "crashed", "its process does not listen");
}

void Subagents::rest(Agent& agent, const std::string& result) {
  agent.facts.status = kCompleted;
  agent.facts.result = result;
  agent.cooling.arm(kWarmMs, [this, node = agent.facts.node] { parts_.processes.close_input(node); });
  changed(agent);
  tell(agent);
}

void Subagents::end(Agent& agent, const std::string& status, const std::string& error) {
  if (!agent.is_running()) return;
  agent.facts.status = status;
  agent.facts.error = error;
  // They may be calling us.
  parts_.loop.post([question = std::move(agent.question), uses = std::exchange(agent.uses, {})] {});
  if (agent.has_process) {
    parts_.children.cancelled(agent.facts.node);
    parts_.processes.cancel(agent.facts.node);
  }
  changed(agent);
  tell(agent);
}

void Subagents::reaped(Agent& agent, const process::ChildResult& result) {
  parts_.children.reaped(agent.facts.node);
  agent.has_process = false;
  agent.cooling.cancel();
  end(agent, "crashed", "its process ended: " + result.reason);
  if (agent.is_leaving) return remove(std::string(agent.facts.handle));
  forget_oldest();
}

void Subagents::tell(Agent& agent) {
  auto done = std::exchange(agent.done, nullptr);
  agent.elicit = nullptr;
  agent.spent = nullptr;
  if (done) done(outcome_of(agent.facts));
}

void Subagents::changed(Agent& agent) {
  agent.facts.updated_ms = parts_.clock.wall_ms();
  parts_.feed.push(feed::Visibility::operators(), payload(agent.facts));
}

void Subagents::forget_oldest() {
  while (agents_.size() > kKept) {
    auto oldest = agents_.end();
    for (auto at = agents_.begin(); at != agents_.end(); ++at) {
      const bool over = !at->second->has_process && !at->second->is_running();
      const bool older = oldest == agents_.end() || at->second->facts.updated_ms < oldest->second->facts.updated_ms;
      if (over && older) oldest = at;
    }
    if (oldest == agents_.end()) return;
    remove(oldest->first);
  }
}

void Subagents::remove(const std::string& handle) {
  parts_.feed.push(feed::Visibility::operators(), feed::SubagentRemoved{handle});
  agents_.erase(handle);
}

void Subagents::forget(const std::string& principal, const std::string& context) {
  std::vector<std::string> over;
  for (const auto& [handle, agent] : agents_) {
    if (agent->facts.principal != principal || agent->facts.context != context) continue;
    agent->is_leaving = true;
    if (agent->is_warm()) parts_.processes.close_input(agent->facts.node);
    if (!agent->has_process) over.push_back(handle);
  }
  for (const std::string& handle : over) remove(handle);
}

Status Subagents::send(const feed::Viewer& viewer, const std::string& handle, const std::string& message) {
  Agent* agent = visible(viewer, handle);
  if (agent == nullptr) return unknown();
  if (!agent->is_running() && !agent->is_warm()) {
    return fail(Code::kUnsupportedOperation, fmt::format("the subagent has ended ({})", agent->facts.status));
  }
  agent->cooling.cancel();
  agent->facts.status = kRunning;
  changed(*agent);
  say(*agent, {{"say", {{"text", message}}}});
  return {};
}

Status Subagents::kill(const feed::Viewer& viewer, const std::string& handle, const std::string& reason) {
  Agent* agent = visible(viewer, handle);
  if (agent == nullptr) return unknown();
  if (!agent->is_running()) return fail(Code::kTaskNotCancelable, "the subagent is not at work");
  end(*agent, "killed", reason);
  return {};
}

void Subagents::cancel_task(const std::string& task) {
  for (const auto& [handle, agent] : agents_) {
    if (agent->facts.task == task) end(*agent, "cancelled", "its task was cancelled");
  }
}

void Subagents::stop() {
  // Nobody waits for any of them any more, so none ends another.
  for (const auto& [handle, agent] : agents_) agent->done = nullptr;
  for (const auto& [handle, agent] : agents_) {
    agent->question = {};
    agent->uses.clear();
  }
}

const SubagentFacts* Subagents::find(const feed::Viewer& viewer, const std::string& handle) const {
  const Agent* agent = at(handle);
  const bool seen = agent != nullptr && feed::may_see(viewer, feed::Visibility::owner(agent->facts.principal));
  return seen ? &agent->facts : nullptr;
}

std::vector<feed::Subagent> Subagents::all() const {
  std::vector<feed::Subagent> out;
  for (const auto& [handle, agent] : agents_) out.push_back(payload(agent->facts));
  return out;
}

feed::Subagent Subagents::payload(const SubagentFacts& facts) {
  return {.handle = facts.handle,
          .mode = facts.mode,
          .status = facts.status,
          .tokens = facts.tokens,
          .error = facts.error.empty() ? std::nullopt : std::optional(facts.error),
          .updated = static_cast<feed::Count>(facts.updated_ms)};
}

}  // namespace agentd::runtime
