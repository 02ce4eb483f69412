// The part of Subagents that does what their processes ask for.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/glob.h"
#include "runtime/gate.h"
#include "runtime/subagent_state.h"
#include "runtime/subagent_tools.h"
#include "runtime/subagent_worker.h"
#include "runtime/transcript.h"

namespace agentd::runtime {
namespace {

constexpr std::size_t kResultBytes = 32U << 10U;  // of a tool, to its model
constexpr std::size_t kShownArguments = 2'000;

constexpr std::string_view kInstructions =
    "You are a subagent: an agent that works for another one. Do what you are told, with the tools that you have, and "
    "answer with the result alone. Nobody reads what you say before it.";

bool matches_any(const std::vector<std::string>& globs, const std::string& name) {
  return std::ranges::any_of(globs, [&](const std::string& glob) { return matches_glob(glob, name); });
}

const ToolFacts* named(const std::vector<ToolFacts>& tools, const std::string& name) {
  const auto found = std::ranges::find(tools, name, [](const ToolFacts& tool) { return tool.spec.name; });
  return found == tools.end() ? nullptr : &*found;
}

// Why it was not allowed, by the answer to the question whether it is.
std::string refusal_of(const Json& answer) {
  if (answer.value("action", "") == "cancel") return "It was not allowed: nobody could be asked.";
  const std::string reason = answer.value("content", Json::object()).value("reason", "");
  return reason.empty() ? "It was not allowed." : "It was not allowed: " + reason;
}

}  // namespace

std::vector<ToolFacts> Subagents::tools_of(const Agent& agent) const {
  std::vector<ToolFacts> out = parts_.tools.all();
  const bool may_start = agent.facts.depth < parts_.settings.now().agent.max_subagent_depth;
  std::erase_if(out, [&](const ToolFacts& tool) {
    const std::string& name = tool.spec.name;
    if (!may_start && (name == kSubagentRun || name == kSubagentSend)) return true;
    return !std::ranges::all_of(agent.globs, [&](const auto& globs) { return matches_any(globs, name); });
  });
  return out;
}

void Subagents::take_line(Agent& agent, std::string_view text) {
  if (!agent.is_running()) return;
  if (parts_.instance.paused()) return void(agent.held.emplace_back(text));
  constexpr char kProtocol[] = "its process said what is no part of the protocol";
  const auto line = parse_json(text, {.bytes = 16U << 20U});
  if (!line) return end(agent, "failed", kProtocol);
  try {
    if (line->contains("ask")) return ask(agent, messages_from_json(line->at("ask").at("messages")));
    if (line->contains("use")) return use_tool(agent, call_from_json(line->at("use")));
    const Json& done = line->at("done");
    // What it was told since is on its way to it, and answered next.
    if (done.at("heard") == agent.said) rest(agent, done.at("text"));
  } catch (const Json::exception&) {
    end(agent, "failed", kProtocol);
  }
}

void Subagents::ask(Agent& agent, std::vector<llm::ChatMessage> messages) {
  auto why = parts_.budgets.exhausted({.rounds = agent.used.rounds});
  if (!why) why = spend(agent, {}, 0);
  if (why) return end(agent, "failed", "Stopped: " + *why + ".");
  ++agent.used.rounds;
  llm::ChatRequest request{.instructions = std::string(kInstructions), .messages = std::move(messages)};
  for (ToolFacts& tool : tools_of(agent)) request.tools.push_back(std::move(tool.spec));
  Transcript::shorten(request.messages, agent.model->model().context_tokens / 2);
  agent.question =
      agent.model->ask(std::move(request), {.text = [](std::string_view) {},
                                            .again = [](const Error&, std::int64_t) {},
                                            .done =
                                                [this, handle = agent.facts.handle](Result<llm::Completion> answer) {
                                                  Agent* asked = at(handle);
                                                  if (asked != nullptr && asked->is_running())
                                                    take(*asked, std::move(answer));
                                                }});
}

// Counts what it used, for itself and all that it works for. Returns why it may not go on, if so.
std::optional<std::string> Subagents::spend(Agent& agent, const llm::Usage& usage, double usd) {
  const std::uint64_t tokens = usage.input + usage.output;
  agent.facts.tokens += tokens;
  if (tokens > 0) {
    if (agent.has_process) parts_.children.count_tokens(agent.facts.node, tokens);
    changed(agent);
  }
  std::optional<std::string> why;
  const auto note = [&why](std::optional<std::string> reason) {
    if (!why) why = std::move(reason);
  };
  for (Agent* each = &agent; each != nullptr; each = at(each->facts.parent)) {
    each->used.tokens_in += usage.input;
    each->used.tokens_out += usage.output;
    each->used.usd += usd;
    const std::uint64_t all = each->used.tokens_in + each->used.tokens_out;
    if (each->most_tokens > 0 && all >= each->most_tokens) {
      note(fmt::format("{} of {} tokens of the subagent {} are used", all, each->most_tokens, each->facts.handle));
    }
    // What nobody waits for is bound like a turn of its own.
    if (!each->waiter) note(parts_.budgets.overspent(each->used));
  }
  if (agent.waiter && agent.waiter->listener.spent) note(agent.waiter->listener.spent(usage, usd));
  return why;
}

void Subagents::take(Agent& agent, Result<llm::Completion> completion) {
  if (!completion) return end(agent, "failed", completion.error().message);
  const auto why = spend(agent, completion->usage, parts_.budgets.spend(completion->model, completion->usage));
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
  const ToolFacts* tool = named(tools, call.name);
  if (tool == nullptr) return give_result(agent, call, {.text = "There is no such tool here.", .is_error = true});
  if (!call.arguments.is_object()) {
    return give_result(agent, call, {.text = "The arguments are not a JSON object.", .is_error = true});
  }
  if (must_be_asked(parts_.settings.now().agent.approval, *tool)) return ask_leave(agent, call);
  agent.allowed.push_back(call);
  begin_uses(agent);
}

void Subagents::ask_leave(Agent& agent, const llm::ToolCall& call) {
  const std::string text = dump_json(call.arguments);
  const bool fits = text.size() <= kShownArguments;
  const std::string shown = cut_text(text, kShownArguments);
  listener_of(agent, call)
      .elicit(
          {.message = fmt::format("May the subagent {} use the tool {} with {}?", agent.facts.handle, call.name, shown),
           .schema = approval_schema(),
           .about = {{"kind", to_string(Gate::Kind::kApproval)},
                     {"subagent", agent.facts.handle},
                     {"tool", call.name},
                     {"arguments", fits ? call.arguments : Json(shown)}},
           .answer = [this, handle = agent.facts.handle, call](const Json& answer) {
             Agent* asked = at(handle);
             if (asked == nullptr || !asked->is_running()) return;
             if (answer.value("content", Json::object()).value("decision", "") != "approve") {
               return give_result(*asked, call, {.text = refusal_of(answer), .is_error = true});
             }
             asked->allowed.push_back(call);
             begin_uses(*asked);
           }});
}

void Subagents::begin_uses(Agent& agent) {
  if (parts_.instance.paused()) return;
  const std::uint64_t most = parts_.settings.now().agent.max_parallel_tools;
  while (!agent.allowed.empty() && agent.is_running()) {
    const auto tools = tools_of(agent);
    const ToolFacts* tool = named(tools, agent.allowed.front().name);
    const bool beside = std::ranges::all_of(agent.uses, [](const auto& use) { return use.second.beside_others; });
    if (tool != nullptr && !may_begin(*tool, agent.uses.size(), beside, most)) return;
    const llm::ToolCall call = std::move(agent.allowed.front());
    agent.allowed.pop_front();
    if (tool == nullptr) {
      give_result(agent, call, {.text = "The tool is not there any more.", .is_error = true});
      continue;
    }
    agent.uses[call.id] = {.tool = call.name, .beside_others = tool->beside_others};
    begin_use(agent, call);
  }
}

void Subagents::begin_use(Agent& agent, const llm::ToolCall& call) {
  parts_.instance.count([](Counters& counters) { ++counters.tool_calls; });
  // What a tool lists it has: it is there.
  agent.uses[call.id].use = parts_.tools.use({.name = call.name,
                                              .principal = agent.facts.principal,
                                              .context = agent.facts.context,
                                              .task = agent.facts.task,
                                              .subagent = agent.facts.handle,
                                              .arguments = call.arguments},
                                             listener_of(agent, call));
}

// Who waits for it may change while the tool is used.
ToolListener Subagents::listener_of(const Agent& agent, const llm::ToolCall& call) {
  const auto listener = [this, handle = agent.facts.handle]() -> const ToolListener* {
    const Agent* user = at(handle);
    return user != nullptr && user->waiter ? &user->waiter->listener : nullptr;
  };
  return {.elicit =
              [listener](ToolQuestion question) {
                const ToolListener* heard = listener();
                // A copy: the answer may end whoever waits.
                const auto elicit = heard == nullptr ? nullptr : heard->elicit;
                elicit ? elicit(std::move(question)) : question.answer({{"action", "cancel"}});
              },
          .withdraw =
              [listener](const std::string& id) {
                const ToolListener* heard = listener();
                const auto withdraw = heard == nullptr ? nullptr : heard->withdraw;
                if (withdraw) withdraw(id);
              },
          .spent = [listener](const llm::Usage& usage, double usd) -> std::optional<std::string> {
            const ToolListener* heard = listener();
            return heard != nullptr && heard->spent ? heard->spent(usage, usd) : std::nullopt;
          },
          .done =
              [this, handle = agent.facts.handle, call](const ToolOutcome& outcome) {
                Agent* user = at(handle);
                auto used = user == nullptr ? decltype(user->uses)::node_type() : user->uses.extract(call.id);
                if (!used) return;
                // It calls us, so it goes when it has returned.
                parts_.loop.post([gone = std::move(used.mapped().use)] {});
                give_result(*user, call, outcome);
                begin_uses(*user);
              }};
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

}  // namespace agentd::runtime
