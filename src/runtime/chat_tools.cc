// The part of ChatTurn that uses tools and asks people.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ids.h"
#include "base/time_text.h"
#include "runtime/chat_turn.h"
#include "schema/validator.h"

namespace agentd::runtime {
namespace {

constexpr std::size_t kResultBytes = 32U << 10U;  // of a tool, to the model; the whole is an artifact then
constexpr std::size_t kPutOutBytes = 4U << 20U;   // of all such artifacts of a task: each change writes the whole task
constexpr std::int64_t kProgressMs = 1'000;
constexpr std::size_t kShownArguments = 2'000;
constexpr std::size_t kAskedArguments = 16U << 10U;
constexpr char kApprove[] = "approve";
constexpr char kAsk[] = "ask_human";
constexpr std::int64_t kMinuteMs = 60'000;

Json schema_of_question(const Json& arguments) {
  const Json choices = arguments.value("choices", Json::array());
  if (!choices.is_array() || choices.empty()) return nullptr;
  return {{"type", "string"}, {"enum", choices}};
}

std::string with_choices(const Json& arguments) {
  std::string out = arguments.value("question", "");
  for (const Json& choice : arguments.value("choices", Json::array())) {
    if (choice.is_string()) out += "\n- " + choice.get<std::string>();
  }
  return out;
}

// As they are, or the beginning of their text: what asks is on the feed, and in the task.
Json shown_arguments(const llm::ToolCall& call) {
  const std::string text = dump_json(call.arguments);
  return text.size() <= kAskedArguments ? call.arguments : Json(cut_text(text, kAskedArguments));
}

std::string question_about(const llm::ToolCall& call) {
  return fmt::format("May the tool {} be used with {}?", call.name,
                     cut_text(dump_json(call.arguments), kShownArguments));
}

std::string text_of_answer(const Json& answer) {
  return answer.is_string() ? answer.get<std::string>() : dump_json(answer);
}

// What a decision is kept as: "approve", or why not.
std::string decision_of(const Json& answer) {
  if (answer.value("decision", "") == kApprove) return kApprove;
  const std::string reason = answer.value("reason", "");
  return reason.empty() ? "It was not allowed." : "It was not allowed: " + reason;
}

Json approve() { return {{"decision", kApprove}}; }

}  // namespace

llm::ToolSpec ask_human_spec() {
  static const llm::ToolSpec spec{
      .name = kAsk,
      .description =
          "Asks the person for whom you work a question, and waits for the answer. Use it when you cannot go on "
          "without "
          "something that only they know or may decide; not for what a tool can find out.",
      .schema = Json::parse(R"({
            "type": "object",
            "properties": {
              "question": {"type": "string", "minLength": 1, "maxLength": 4000},
              "choices": {"type": "array", "items": {"type": "string"}, "maxItems": 20,
                          "description": "The possible answers, if they are few."}
            },
            "required": ["question"]
          })")};
  return spec;
}

std::string ChatTurn::refusal_of(const llm::ToolCall& call) const {
  if (!call.arguments.is_object())
    return "The arguments are not a JSON object: " + cut_text(text_of_answer(call.arguments), 500);
  if (call.name == kAsk) return misfit_of(ask_human_spec().schema, call.arguments);
  if (chat_.tools.find(call.name) == nullptr)
    return fmt::format("There is no tool {} here.", quote_json(cut_text(call.name, 100)));
  const auto decided = progress_.decisions.find(call.id);
  return decided == progress_.decisions.end() || decided->second == kApprove ? "" : decided->second;
}

bool ChatTurn::must_ask(const llm::ToolCall& call) const {
  if (call.name == kAsk) return true;
  if (progress_.decisions.contains(call.id)) return false;
  return must_be_asked(chat_.settings.now().agent.approval, *chat_.tools.find(call.name));
}

// First the calls that a person has to decide on, one after the other; then those that go beside others, the others
// each by itself.
void ChatTurn::use_tools() {
  if (uses_.empty() && hold_back()) return;
  if (parts_.instance.paused()) return;  // what is at work is let end
  std::vector<llm::ToolCall> calls = transcript_.pending();
  std::erase_if(calls, [this](const llm::ToolCall& call) {
    if (uses_.contains(call.id)) return true;
    const std::string refusal = refusal_of(call);
    if (!refusal.empty()) add_result(call, refusal, true);
    return !refusal.empty();
  });
  if (uses_.empty()) {
    const auto asked = std::ranges::find_if(calls, [this](const llm::ToolCall& call) { return must_ask(call); });
    if (asked != calls.end()) return ask_about(*asked);
    if (calls.empty()) return go_on();
  }
  const std::uint64_t most = chat_.settings.now().agent.max_parallel_tools;
  for (const llm::ToolCall& call : calls) {
    const bool beside = std::ranges::all_of(uses_, [](const auto& use) { return use.second.beside_others; });
    if (!may_begin(*chat_.tools.find(call.name), uses_.size(), beside, most)) break;
    begin_use(call);
  }
}

void ChatTurn::ask_about(const llm::ToolCall& call) {
  if (call.name == kAsk) {
    return open_gate({.kind = Gate::Kind::kQuestion,
                      .question = with_choices(call.arguments),
                      .schema = schema_of_question(call.arguments),
                      .call = call.id},
                     Json::object());
  }
  open_gate(
      {.kind = Gate::Kind::kApproval, .question = question_about(call), .schema = approval_schema(), .call = call.id},
      {{"tool", call.name}, {"arguments", shown_arguments(call)}});
}

// What may change something is on record before it begins.
void ChatTurn::begin_use(const llm::ToolCall& call) {
  const ToolFacts& tool = *chat_.tools.find(call.name);
  const bool read_only = tool.read_only;
  uses_[call.id] = {.name = call.name, .beside_others = tool.beside_others};
  show_tool();
  parts_.instance.count([](Counters& counters) { ++counters.tool_calls; });
  if (read_only) return use(call);
  progress_.begun.insert(call.id);
  keep_progress(false);
  parts_.journal.once_durable([this, call, weak = weak_from_this()] {
    if (const auto self = weak.lock(); self && uses_.contains(call.id)) use(call);
  });
}

// What a subagent was handed of these outlives the use, in those that it has started itself.
void ChatTurn::use(const llm::ToolCall& call) {
  auto use = chat_.tools.use({.name = call.name,
                              .principal = facts().principal,
                              .context = facts().context,
                              .task = facts().task,
                              .arguments = call.arguments},
                             {.elicit =
                                  [this, call, weak = weak_from_this()](ToolQuestion asked) {
                                    const auto self = weak.lock();
                                    if (self && uses_.contains(call.id)) return elicit(call, std::move(asked));
                                    asked.answer({{"action", "cancel"}});
                                  },
                              .progress =
                                  [this, call, weak = weak_from_this()](const std::string& text) {
                                    const auto self = weak.lock();
                                    if (self && uses_.contains(call.id)) show_progress(call, text);
                                  },
                              .withdraw =
                                  [this, call, weak = weak_from_this()](const std::string& id) {
                                    if (const auto self = weak.lock()) withdraw(call, id);
                                  },
                              .spent = [this, call, weak = weak_from_this()](const llm::Usage& usage,
                                                                             double usd) -> std::optional<std::string> {
                                const auto self = weak.lock();
                                if (self && uses_.contains(call.id)) return spend(usage, usd);
                                return "the turn that it worked for is over";
                              },
                              .done = [this, call](ToolOutcome outcome) { used(call, std::move(outcome)); }});
  if (!use) return used(call, {.text = "The tool is not there any more.", .is_error = true});
  uses_[call.id].use = std::move(use);
}

void ChatTurn::used(const llm::ToolCall& call, ToolOutcome outcome) {
  // It calls us, so it goes when it has returned.
  parts_.loop.post([gone = std::move(uses_[call.id].use)] {});
  uses_.erase(call.id);
  forget_questions([&](const auto& asked) { return asked.first == call.id; });
  outcome.text = chat_.settings.redactor().redact(outcome.text);
  outcome.parts = chat_.settings.redactor().redact_json(std::move(outcome.parts));
  if (outcome.text.size() > kResultBytes || !outcome.parts.empty()) put_out(call, outcome);
  add_result(call, outcome.text, outcome.is_error);
  if (waits_for_answer()) return;
  if (!uses_.empty()) show_tool();
  transcript_.pending().empty() ? go_on() : use_tools();
}

// What is too long for the model, or no text, is an artifact.
void ChatTurn::put_out(const llm::ToolCall& call, ToolOutcome& outcome) {
  Json parts = outcome.text.empty() ? Json::array() : Json::array({Json{{"text", outcome.text}}});
  for (Json& part : outcome.parts) parts.push_back(std::move(part));
  const std::size_t bytes = dump_json(parts).size();
  outcome.text = cut_text(outcome.text, kResultBytes);
  if (bytes > kPutOutBytes - std::min<std::uint64_t>(progress_.put_out, kPutOutBytes)) {
    outcome.text +=
        fmt::format("\n(The whole, {} bytes, was not kept: the results of a task's tools may have {} in all.)", bytes,
                    kPutOutBytes);
    return;
  }
  progress_.put_out += bytes;
  parts_.tasks.put_artifact(task(),
                            {{"artifactId", "tool-" + call.id}, {"name", call.name}, {"parts", std::move(parts)}});
}

void ChatTurn::add_result(const llm::ToolCall& call, const std::string& text, bool is_error) {
  // A later call may have its id again: what was decided was about this one.
  progress_.decisions.erase(call.id);
  progress_.begun.erase(call.id);
  keep_progress();
  add_row(result_row(facts().context, facts().task, {.call = call, .text = text, .is_error = is_error}));
}

// As the message of the status, at most once in a second.
void ChatTurn::show_progress(const llm::ToolCall& call, const std::string& text) {
  const std::int64_t now = parts_.clock.mono_ms();
  if (waits_for_answer() || now - progress_shown_ms_ < kProgressMs) return;
  progress_shown_ms_ = now;
  const std::string shown = chat_.settings.redactor().redact(text);
  parts_.tasks.set_state(task(), a2a::TaskState::kWorking,
                         agent_message(task(), fmt::format("{}: {}", call.name, shown)));
}

void ChatTurn::show_tool() { set_phase("tool", uses_.begin()->second.name); }

void ChatTurn::open_gate(Gate gate, const Json& about) {
  const auto& agent = chat_.settings.now().agent;
  if (agent.nobody != config::Nobody::kWait && !parts_.tasks.is_attended(facts().task) &&
      !chat_.is_attended(facts().principal)) {
    return settle_unattended(gate);
  }
  gate.id = "gate-" + random_hex(16);
  if (agent.ask_timeout_ms > 0) gate.deadline_ms = parts_.clock.wall_ms() + agent.ask_timeout_ms;
  Json message = agent_message(task(), gate.question);
  Json& told = message["metadata"][kGateKey] = {{"id", gate.id}, {"kind", to_string(gate.kind)}};
  if (gate.deadline_ms > 0) told["deadline"] = rfc3339(gate.deadline_ms);
  told.update(about);
  stop_clock();
  set_phase("waiting");
  parts_.tasks.open_gate(task(), std::move(gate), std::move(message));
  watch_deadline();
}

void ChatTurn::watch_deadline() {
  const Gate& gate = *task().gate;
  if (gate.deadline_ms == 0) return;
  // In steps, because the deadline is by the wall clock and timers are not.
  const std::int64_t left = gate.deadline_ms - parts_.clock.wall_ms();
  if (left > 0) return deadline_.arm(std::min(left, kMinuteMs), [this] { watch_deadline(); });
  const Gate closed = gate;
  parts_.tasks.close_gate(task(), kNobody);
  start_clock();
  settle(closed, std::nullopt, "Nobody has answered in time.");
}

void ChatTurn::answered(const Json& answer) {
  deadline_.cancel();
  const Gate closed = *task().gate;
  start_clock();
  settle(closed, answer, "");
}

void ChatTurn::settle(const Gate& gate, const std::optional<Json>& answer, const std::string& why_not) {
  if (gate.kind == Gate::Kind::kApproval) {
    progress_.decisions[gate.call] = answer ? decision_of(*answer) : why_not;
    keep_progress(false);
  } else if (gate.kind == Gate::Kind::kQuestion) {
    add_result({.id = gate.call, .name = kAsk}, answer ? text_of_answer(*answer) : why_not, !answer);
  } else if (!asked_.empty()) {
    auto asked = std::move(asked_.front().second);
    asked_.pop_front();
    asked.answer(answer ? Json{{"action", "accept"}, {"content", *answer}} : Json{{"action", "cancel"}});
    return ask_next_elicitation();
  }
  go_on();
}

// What the configuration says is done at once when nobody is there to answer.
void ChatTurn::settle_unattended(const Gate& gate) {
  constexpr char kNobodyThere[] = "Nobody is there to answer.";
  switch (chat_.settings.now().agent.nobody) {
    case config::Nobody::kFail: return fail(fmt::format("{} The question was: {}", kNobodyThere, gate.question));
    case config::Nobody::kAuto:
      if (gate.is_approval()) return settle(gate, approve(), "");
      return settle(gate, std::nullopt, std::string(kNobodyThere) + " Decide as you think best.");
    default: return settle(gate, std::nullopt, kNobodyThere);
  }
}

void ChatTurn::elicit(const llm::ToolCall& call, ToolQuestion question) {
  asked_.emplace_back(call.id, std::move(question));
  if (!waits_for_answer()) ask_next_elicitation();
}

void ChatTurn::withdraw(const llm::ToolCall& call, const std::string& id) {
  forget_questions([&](const auto& asked) { return asked.first == call.id && asked.second.id == id; });
}

// What matches needs no answer any more.
void ChatTurn::forget_questions(const std::function<bool(const std::pair<std::string, ToolQuestion>&)>& matches) {
  if (asked_.empty()) return;
  const bool is_open = waits_for_answer() && matches(asked_.front());
  std::erase_if(asked_, matches);
  if (!is_open) return;
  deadline_.cancel();
  parts_.tasks.close_gate(task(), kNobody);
  start_clock();
  if (!asked_.empty() || !uses_.empty()) ask_next_elicitation();
}

void ChatTurn::ask_next_elicitation() {
  if (asked_.empty()) return uses_.empty() ? go_on() : show_tool();
  const auto& [call, asked] = asked_.front();
  const bool usable = schema::compile(asked.schema).has_value();
  Json about = {{"tool", uses_.contains(call) ? uses_.at(call).name : ""}};
  about.update(asked.about);
  const bool signs_in = about.value("kind", "") == kSignInKind;
  open_gate({.kind = signs_in ? Gate::Kind::kSignIn : Gate::Kind::kElicitation,
             .question = chat_.settings.redactor().redact(asked.message),
             .schema = usable ? asked.schema : Json{{"type", "object"}},
             .call = call},
            about);
}

}  // namespace agentd::runtime
