// ChatTurn: a turn that a chat model answers: rounds of asking it and of using the tools that it wants, until it has answered.
//
//   conversation --> ask --> answer without calls: the task is completed
//        ^             \--> calls --> approval, a question to a person --> tools --> results --+
//        +-------------------------------------------------------------------------------------+
//
// What was said and done is in the conversation's rows, what was decided and begun in the task's, so a turn that a crash cut off goes on
// where it was: a call that only reads is made again, another one that had begun is reported to the model as of unknown
// outcome. The answer's text is put out as it comes (artifact "answer"); text before calls becomes the status message.
// Confined to the core thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "llm/remote.h"
#include "runtime/budgets.h"
#include "runtime/gate.h"
#include "runtime/progress.h"
#include "runtime/settings.h"
#include "runtime/tools.h"
#include "runtime/transcript.h"
#include "runtime/turn.h"

namespace agentd::runtime {

// What chats use; all of it outlives them.
struct ChatParts {
  Tools& tools;
  Budgets& budgets;
  const Settings& settings;
  // Whether somebody who may answer for that principal follows the feed now.
  std::function<bool(const std::string& principal)> is_attended;
};

class ChatTurn final : public TurnAtWork {
 public:
  ChatTurn(const TurnParts& parts, const ChatParts& chat, TurnFacts facts, std::shared_ptr<llm::RemoteModel> model,
           std::function<void(TurnAtWork&)> left);

  void begin() override;
  void hear(const Json& message, std::uint64_t number) override;
  [[nodiscard]] std::size_t unheard() const override { return unheard_; }
  void answered(const Json& answer) override;
  [[nodiscard]] bool waits_for_answer() const override;

 private:
  struct Use {
    std::string name;
    bool beside_others = false;
    std::unique_ptr<ToolUse> use = {};
  };

  void go_on() override;
  void stop() override;

  void loaded(const std::vector<std::pair<std::uint64_t, Json>>& rows);  // numbers and messages
  void add_row(const Json& message);
  void fail(const std::string& why);

  [[nodiscard]] std::string instructions() const;
  void ask();
  [[nodiscard]] std::uint64_t room_for(const std::string& instructions) const;
  void summarise(std::uint64_t until);
  void take_notes(std::uint64_t until, const Result<llm::Completion>& notes);
  void take(Result<llm::Completion> completion);
  void take_text(std::string_view piece);
  void show_text();
  // Counts what was used for this turn. Returns why it may not go on, if so.
  std::optional<std::string> spend(const llm::Usage& usage, double usd);

  void use_tools();
  // Why the call cannot be made, or "".
  [[nodiscard]] std::string refusal_of(const llm::ToolCall& call) const;
  [[nodiscard]] bool must_ask(const llm::ToolCall& call) const;
  void ask_about(const llm::ToolCall& call);
  void begin_use(const llm::ToolCall& call);
  void use(const llm::ToolCall& call);
  void used(const llm::ToolCall& call, ToolOutcome outcome);
  void put_out(const llm::ToolCall& call, ToolOutcome& outcome);
  void add_result(const llm::ToolCall& call, const std::string& text, bool is_error);
  void show_tool();
  void show_progress(const llm::ToolCall& call, const std::string& text);

  // `about`: what the question's metadata tell beside.
  void open_gate(Gate gate, const Json& about);
  void watch_deadline();
  // `answer`: nothing when there is none, and `why_not`.
  void settle(const Gate& gate, const std::optional<Json>& answer, const std::string& why_not);
  void settle_unattended(const Gate& gate);
  void elicit(const llm::ToolCall& call, ToolQuestion question);
  void withdraw(const llm::ToolCall& call, const std::string& id);
  void forget_questions(const std::function<bool(const std::pair<std::string, ToolQuestion>&)>& matches);
  void ask_next_elicitation();

  // Counts may be a quarter of a second behind; decisions and what has begun may not.
  void keep_progress(bool lazily = true);
  // Whether it is held back by a pause of the instance, which is not its time either.
  [[nodiscard]] bool hold_back();
  void start_clock();
  void stop_clock();

  const ChatParts& chat_;
  const std::shared_ptr<llm::RemoteModel> model_;
  Transcript transcript_;
  Progress progress_;
  bool loaded_ = false;
  bool cannot_summarise_ = false;                      // the model did not, in this turn
  std::vector<std::pair<std::uint64_t, Json>> early_;  // heard before it was loaded
  std::size_t unheard_ = 0;
  bool asking_ = false;
  std::vector<std::pair<std::uint64_t, Json>> meanwhile_;  // heard while it was asked: told after its answer
  llm::Question question_;
  std::string artifact_;                                    // of this round's answer
  std::string text_;                                        // of it that is not shown yet
  bool shown_ = false;                                      // a part of it is
  std::map<std::string, Use> uses_;                         // by call
  std::deque<std::pair<std::string, ToolQuestion>> asked_;  // by tools, with their call: the first one's gate is open
  std::int64_t progress_shown_ms_ = 0;                      // monotonic
  std::int64_t clock_since_ms_ = -1;                        // monotonic; -1 = it stands still
  net::Timer starting_, showing_, deadline_, timeout_;
};

// The tool by which the model asks a person.
[[nodiscard]] llm::ToolSpec ask_human_spec();

}  // namespace agentd::runtime
