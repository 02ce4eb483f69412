// Expressions: every jq expression of one workflow, compiled into one program at load.
//
// Starting a jq program costs about 30 ms whatever is in it, so the expressions become numbered functions of
// one program, and a run chooses among them by bisection. What reaches outside (`env`, `$ENV`, `input`,
// `inputs`, `stderr`, `halt`, modules) is refused: `$ENV` when the workflow is loaded, the others when they
// are called. Core-confined once compiled; see jq_program.h for numbers, costs and what is trusted.
#pragma once

#include <cstddef>
#include <expected>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "workflow/jq_program.h"

namespace agentd::workflow {

class Expressions final {
 public:
  struct Refusal {
    std::string source;
    std::string reason;  // jq's
  };
  // Each of `sources` has passed check_expression. All that do not compile are named; an empty `source`
  // stands for the program as a whole.
  [[nodiscard]] static std::expected<std::shared_ptr<const Expressions>, std::vector<Refusal>> compile(
      const std::vector<std::string>& sources);

  // The following take only what was compiled. Errors: kInvalidParams with the expression and the reason.
  [[nodiscard]] Result<Json> evaluate(const std::string& source, const JqValue& context) const;
  // A template that is one expression alone gives its value, any other a string.
  [[nodiscard]] Result<Json> value_of(const std::string& text, const JqValue& context) const;
  // Results are put in as text: strings as they are, others as JSON.
  [[nodiscard]] Result<std::string> text_of(const std::string& text, const JqValue& context) const;

 private:
  using Numbers = std::map<std::string, std::size_t, std::less<>>;
  Expressions(JqProgram program, Numbers numbers);

  JqProgram program_;
  Numbers numbers_;
};

}  // namespace agentd::workflow
