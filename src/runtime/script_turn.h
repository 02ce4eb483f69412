// ScriptTurn: a turn that works through the script that the scripted model gave for its message, action by action, on timers.
//
// Messages that come meanwhile are its next rounds, each with a script of its own. One that a crash cut off is done again from its message:
// its artifacts keep their ids and are replaced. Confined to the core thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "llm/scripted.h"
#include "runtime/turn.h"

namespace agentd::runtime {

class ScriptTurn final : public TurnAtWork {
 public:
  using Said = std::move_only_function<void(Json message)>;
  // The script of a message that is the conversation's turn of that number.
  using Ask = std::function<llm::Script(const Json& message, std::uint64_t number)>;

  ScriptTurn(const TurnParts& parts, TurnFacts facts, llm::Script script, Ask ask, Said said,
             std::function<void(TurnAtWork&)> left);

  // Of a turn that is done again: these artifacts of its task are not added to, but replaced.
  void replace(const Json& artifacts);

  void begin() override;
  void hear(const Json& message, std::uint64_t number) override;
  [[nodiscard]] std::size_t unheard() const override { return queued_.size(); }
  void answered(const Json&) override {}
  [[nodiscard]] bool waits_for_answer() const override { return false; }

 private:
  void go_on() override;
  void stop() override { timer_.cancel(); }

  // False: it goes on later, or the turn is over.
  bool act(const llm::Text& text);
  bool act(const llm::Say& say);
  bool act(const llm::Artifact& artifact);
  bool act(const llm::Chunks& chunks);
  bool act(const llm::Delay& delay);
  bool act(const llm::SetState& state);
  bool act(const llm::DirectMessage& message);
  bool act(const llm::RunWorkflow& run);
  bool act(const llm::UseTool& tool);
  bool go_on_after(std::int64_t ms);  // false
  void put_chunk();
  void say_directly(const llm::DirectMessage& message);
  void finish(a2a::TaskState state, Json message);
  void next_round();

  llm::Script script_;
  const Ask ask_;
  Said said_;
  std::size_t next_ = 0;             // of the script's actions
  std::vector<std::string> pieces_;  // of the chunks being put
  std::size_t next_piece_ = 0;
  std::set<std::string> left_over_;  // artifacts of the turn that a crash cut off
  bool answered_ = false;            // the artifact "answer" is there
  std::deque<Json> queued_;
  net::Timer timer_;
};

}  // namespace agentd::runtime
