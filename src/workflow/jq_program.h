// JqProgram: one jq program, compiled once and run many times. The only place that sees libjq.
//
// Core-confined: a jq state belongs to one thread at a time (it may be compiled on another one before).
// Numbers are doubles, as in jq 1.6: an integer past 2^53 comes out rounded. A run takes the first result
// of the program and stops there. A program is code of whoever wrote the workflow, as trusted as the
// commands in it: nothing stops one that loops. ~/.jq of the daemon's user is loaded, as the jq command does.
// Cost: compiling about 30 ms, most of it jq's own definitions; a run about 10 us.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <string>

#include "base/json.h"

namespace agentd::workflow {

// A value in jq's form: made once, given to many runs.
class JqValue final {
 public:
  explicit JqValue(const Json& value);
  ~JqValue();
  JqValue(JqValue&&) noexcept;
  JqValue& operator=(JqValue&&) noexcept;

 private:
  friend class JqProgram;
  struct Held;
  std::unique_ptr<Held> held_;
};

class JqProgram final {
 public:
  // The error is jq's first message, without its preamble and place.
  [[nodiscard]] static std::expected<JqProgram, std::string> compile(const std::string& program);
  ~JqProgram();
  JqProgram(JqProgram&&) noexcept;
  JqProgram& operator=(JqProgram&&) noexcept;

  // The first result for the input [number, value]. Errors: what the program raised; no result at all; a
  // result that parse_json would refuse (128 levels, 4096 members, 2 MiB).
  [[nodiscard]] std::expected<Json, std::string> run(std::size_t number, const JqValue& value) const;

 private:
  struct State;
  explicit JqProgram(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace agentd::workflow
