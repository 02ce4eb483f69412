#include "runtime/chat_turn.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace agentd::runtime {
namespace {

using a2a::TaskState;

// Of the conversation, the newest rows: as many as a model could be told, and more than are there after a summary.
constexpr std::size_t kRows = 1'000;
constexpr std::uint64_t kRowBytesPerToken = 8;
constexpr std::int64_t kToolsPollMs = 50;
constexpr std::int64_t kShowEveryMs = 100;  // of the answer's text

constexpr std::string_view kSummarise =
    "You keep the notes of a conversation between a person and an agent. Write down, in plain text, all that the agent "
    "needs to go on with "
    "it: what was asked for, what was decided, what was done and found, names, numbers and paths exactly, and what is "
    "still to do. Leave out pleasantries.";

using Rows = std::vector<std::pair<std::uint64_t, Json>>;

// On the store's thread, which has the time to parse them.
Result<Rows> read_rows(const store::Store& store, const std::string& conversation, std::size_t bytes) {
  const auto rows = store.messages(conversation, kRows, bytes);
  if (!rows) return std::unexpected(rows.error());
  Rows out;
  for (const store::MessageRow& row : *rows) {
    Json message = Json::parse(row.body, nullptr, false);
    if (message.is_object()) out.emplace_back(static_cast<std::uint64_t>(row.number), std::move(message));
  }
  return out;
}

llm::ChatMessage please_summarise() { return {.text = "Write the notes of all that was said up to here."}; }

}  // namespace

ChatTurn::ChatTurn(const TurnParts& parts, const ChatParts& chat, TurnFacts facts,
                   std::shared_ptr<llm::RemoteModel> model, std::function<void(TurnAtWork&)> left)
    : TurnAtWork(parts, std::move(facts), std::move(left)),
      chat_(chat),
      model_(std::move(model)),
      transcript_(this->facts().task),
      progress_(progress_from_json(task().work)),
      starting_(parts.loop),
      showing_(parts.loop),
      deadline_(parts.loop),
      timeout_(parts.loop) {}

bool ChatTurn::waits_for_answer() const { return task().open_gate() != nullptr; }

void ChatTurn::begin() {
  edit_activity().round = progress_.rounds + 1;
  if (const Gate* gate = task().open_gate()) {
    if (!gate->is_of_tool()) {
      set_phase("waiting");
      return watch_deadline();
    }
    // The tool that asked ended with the life before.
    parts_.tasks.close_gate(task(), kNobody);
  }
  set_phase("thinking");
  start_clock();
  auto rows = std::make_shared<Result<Rows>>();
  const std::size_t bytes = model_->model().context_tokens * kRowBytesPerToken;
  parts_.journal.read(
      [rows, bytes, id = conversation().id](const store::Store& store) { *rows = read_rows(store, id, bytes); },
      [this, rows, weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self || parts_.tasks.working(facts().task) == nullptr) return;
        *rows ? loaded(**rows) : fail((*rows).error().message);
      });
}

void ChatTurn::loaded(const Rows& rows) {
  for (const auto& [number, message] : rows) transcript_.add(number, message);
  const std::uint64_t newest = rows.empty() ? 0 : rows.back().first;
  for (const auto& [number, message] : std::exchange(early_, {})) {
    if (number > newest) transcript_.add(number, message);
  }
  loaded_ = true;
  // What had begun when the daemon was stopped cannot be known, and is not begun again.
  for (const llm::ToolCall& call : transcript_.pending()) {
    if (progress_.begun.contains(call.id)) add_result(call, std::string(Transcript::kInterrupted), true);
  }
  go_on();
}

void ChatTurn::stop() {
  question_ = {};
  uses_.clear();
  for (auto& [call, asked] : std::exchange(asked_, {})) asked.answer({{"action", "cancel"}});
  for (net::Timer* timer : {&starting_, &showing_, &deadline_, &timeout_}) timer->cancel();
}

void ChatTurn::hear(const Json& message, std::uint64_t number) {
  ++unheard_;
  if (!loaded_) return void(early_.emplace_back(number, message));
  asking_ ? void(meanwhile_.emplace_back(number, message)) : transcript_.add(number, message);
}

void ChatTurn::add_row(const Json& message) {
  Conversation& where = conversation();
  parts_.conversations.add(where, message, false);
  loaded_ ? transcript_.add(where.messages, message) : void(early_.emplace_back(where.messages, message));
}

void ChatTurn::keep_progress(bool lazily) { parts_.tasks.keep_work(task(), to_json(progress_), lazily); }

// What it waits for people is not its time, nor is a pause of the instance.
void ChatTurn::start_clock() {
  if (clock_since_ms_ >= 0) return;
  clock_since_ms_ = parts_.clock.mono_ms();
  const std::int64_t most = chat_.settings.now().agent.budget.turn_timeout_ms;
  if (most == 0) return;
  timeout_.arm(std::max<std::int64_t>(most - progress_.worked_ms, 0), [this, most] {
    fail(fmt::format("Stopped: it has worked for {} s, which is all that a turn may (agent.budget.turn_timeout).",
                     most / 1000));
  });
}

void ChatTurn::stop_clock() {
  if (clock_since_ms_ < 0) return;
  timeout_.cancel();
  progress_.worked_ms += parts_.clock.mono_ms() - std::exchange(clock_since_ms_, -1);
  keep_progress();
}

bool ChatTurn::hold_back() {
  if (!hold()) return false;
  stop_clock();
  return true;
}

void ChatTurn::fail(const std::string& why) { end(TaskState::kFailed, agent_message(task(), why)); }

// Whatever the transcript calls for next.
void ChatTurn::go_on() {
  if (!loaded_) return begin();
  if (hold_back()) return;
  start_clock();
  if (chat_.tools.are_starting()) return starting_.arm(kToolsPollMs, [this] { go_on(); });
  if (!transcript_.pending().empty()) return use_tools();
  if (transcript_.is_answered()) return end(TaskState::kCompleted, nullptr);
  ask();
}

// What the model is told before all else.
std::string ChatTurn::instructions() const {
  const auto& agent = chat_.settings.now().agent;
  std::string out = agent.instructions;
  for (std::size_t i = 0; i < agent.guidance.size(); ++i) {
    out += fmt::format("{}From {}:\n{}", out.empty() ? "" : "\n\n", agent.files[i], agent.guidance[i]);
  }
  return out;
}

// Tokens that the conversation may have beside all else in the model's window.
std::uint64_t ChatTurn::room_for(const std::string& instructions) const {
  const std::uint64_t window = model_->model().context_tokens;
  const std::uint64_t other = model_->model().max_tokens + Transcript::tokens_of(instructions) + chat_.tools.tokens();
  return window - std::min(window / 2, other);
}

void ChatTurn::ask() {
  if (const auto why = chat_.budgets.exhausted(progress_)) return fail("Stopped: " + *why + ".");
  llm::ChatRequest request{.instructions = instructions(), .messages = transcript_.messages()};
  for (const ToolFacts& tool : chat_.tools.all()) request.tools.push_back(tool.spec);
  request.tools.push_back(ask_human_spec());
  const std::uint64_t room = room_for(request.instructions);
  if (Transcript::tokens_of(request.messages) > room) {
    const std::uint64_t until = cannot_summarise_ ? 0 : transcript_.oldest_to_keep(room / 2);
    if (until > 0) return summarise(until);
    Transcript::shorten(request.messages, room);
  }
  edit_activity().round = ++progress_.rounds;
  keep_progress();
  unheard_ = 0;
  artifact_ = progress_.answers == 0 ? "answer" : fmt::format("answer-{}", progress_.answers + 1);
  set_phase("thinking");
  asking_ = true;
  question_ = model_->ask(std::move(request),
                          {.text = [this](std::string_view piece) { take_text(piece); },
                           .again =
                               [this](const Error&, std::int64_t) {
                                 showing_.cancel();
                                 text_.clear();
                                 shown_ = false;
                               },
                           .done = [this](Result<llm::Completion> completion) { take(std::move(completion)); }});
}

void ChatTurn::summarise(std::uint64_t until) {
  llm::ChatRequest request{.instructions = std::string(kSummarise), .messages = transcript_.messages_until(until)};
  Transcript::shorten(request.messages, model_->model().context_tokens / 2, 0);
  request.messages.push_back(please_summarise());
  question_ = model_->ask(std::move(request),
                          {.text = [](std::string_view) {},
                           .again = [](const Error&, std::int64_t) {},
                           .done = [this, until](const Result<llm::Completion>& notes) { take_notes(until, notes); }});
}

void ChatTurn::take_notes(std::uint64_t until, const Result<llm::Completion>& notes) {
  if (!notes) return fail("Failed to summarise the conversation: " + notes.error().message + ".");
  spend(notes->usage, chat_.budgets.spend(notes->model, notes->usage));
  if (notes->stop == llm::Completion::Stop::kEnd && !notes->text.empty()) {
    add_row(summary_row(facts().context, notes->text, until));
  } else {
    // Half of the notes would stand for all of it. This turn does with what is left when the old is cut.
    log::warn("the model wrote no notes of a conversation that has become too long; its old messages are cut",
              {{"task", facts().task}});
    cannot_summarise_ = true;
  }
  go_on();
}

void ChatTurn::take_text(std::string_view piece) {
  text_ += piece;
  if (!showing_.armed()) showing_.arm(kShowEveryMs, [this] { show_text(); });
}

void ChatTurn::show_text() {
  if (text_.empty()) return;
  parts_.tasks.put_artifact(task(), text_artifact(artifact_, std::exchange(text_, {})), std::exchange(shown_, true),
                            true);
}

std::optional<std::string> ChatTurn::spend(const llm::Usage& usage, double usd) {
  progress_.tokens_in += usage.input;
  progress_.tokens_out += usage.output;
  progress_.usd += usd;
  edit_activity().tokens_in = progress_.tokens_in;
  edit_activity().tokens_out = progress_.tokens_out;
  keep_progress();
  return chat_.budgets.overspent(progress_);
}

void ChatTurn::take(Result<llm::Completion> completion) {
  showing_.cancel();
  text_.clear();
  shown_ = false;
  asking_ = false;
  if (!completion) return fail("Failed: " + completion.error().message + ".");
  spend(completion->usage, chat_.budgets.spend(completion->model, completion->usage));
  using Stop = llm::Completion::Stop;
  if (completion->stop == Stop::kLength) {
    return fail(fmt::format("The model's answer was cut off after {} tokens; agent.model.max_tokens allows {}.",
                            completion->usage.output, model_->model().max_tokens));
  }
  if (completion->stop == Stop::kRefused) {
    return end(TaskState::kRejected,
               agent_message(task(), completion->text.empty() ? "The model declines to answer." : completion->text));
  }
  make_ids_unique(completion->calls);
  if (completion->calls.empty()) {
    // Whole and in one piece, whatever was shown of it.
    parts_.tasks.put_artifact(task(), text_artifact(artifact_, completion->text));
    ++progress_.answers;
    keep_progress();
  } else if (!completion->text.empty()) {
    parts_.tasks.set_state(task(), TaskState::kWorking, agent_message(task(), completion->text));
  }
  add_row(agent_row(facts().context, facts().task, completion->text, completion->calls));
  for (const auto& [number, message] : std::exchange(meanwhile_, {})) transcript_.add(number, message);
  go_on();
}

}  // namespace agentd::runtime
