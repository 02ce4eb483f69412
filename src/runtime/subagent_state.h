// What Subagents keep of each one. Only for their own files.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "llm/remote.h"
#include "net/loop.h"
#include "runtime/progress.h"
#include "runtime/subagents.h"

namespace agentd::runtime {

inline constexpr char kSync[] = "sync";
inline constexpr char kDetached[] = "detached";
inline constexpr char kRunning[] = "running";
inline constexpr char kCompleted[] = "completed";

struct Subagents::Agent {
  explicit Agent(net::Loop& loop) : cooling(loop), working(loop) {}

  // A turn, or a subagent, that waits for its answer.
  struct Waiter {
    std::uint64_t number;
    std::string subagent;  // "" = a turn
    ToolListener listener;
  };
  struct Using {
    std::string tool;
    bool beside_others = false;
    std::unique_ptr<ToolUse> use = {};
  };

  SubagentFacts facts;
  // Of its tools, its own and those of whom it works for: each set has to match.
  std::vector<std::vector<std::string>> globs;
  std::uint64_t most_tokens = 0;  // of it and all below it; 0 = no bound of its own
  Progress used;                  // tokens and dollars of it and all below it; the rounds of this piece of work
  std::shared_ptr<llm::RemoteModel> model;
  llm::Question question;
  std::map<std::string, Using> uses;  // at work, by call
  std::deque<llm::ToolCall> allowed;  // that begin when those at work let them
  std::deque<std::string> held;       // lines that it said while the instance was paused
  std::uint64_t said = 0;             // how often it was told what to do
  std::optional<Waiter> waiter;
  net::Timer cooling;  // a warm one ends after it
  net::Timer working;  // one that nobody waits for is stopped after it
  bool has_process = false;
  bool is_closing = false;  // its process is told to end
  bool is_leaving = false;  // its conversation is gone

  [[nodiscard]] bool is_running() const { return facts.status == kRunning; }
  [[nodiscard]] bool is_warm() const { return has_process && !is_closing && facts.status == kCompleted; }
};

}  // namespace agentd::runtime
