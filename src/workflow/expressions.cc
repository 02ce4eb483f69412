#include "workflow/expressions.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <utility>

#include "base/check.h"
#include "workflow/template.h"

namespace agentd::workflow {
namespace {

// Defined away, because they read or write what is outside of the run, or end jq itself.
constexpr std::array kRefused = {
    "env",  "input",      "inputs",     "debug",           "stderr",           "input_filename",
    "halt", "halt_error", "modulemeta", "get_search_list", "input_line_number"};

// Stands before every expression. `$ENV` is bound, so that even a text that gets past check_expression sees
// nothing.
std::string prelude() {
  std::string out = "{} as $ENV |\n";
  for (const char* name : kRefused) {
    out += fmt::format("def {}: error(\"{} is not available in a workflow\");\n", name, name);
  }
  return out + "def halt_error(f): halt_error;\ndef debug(f): debug;\n";
}

// Chooses the function e<n> for the input [n, context] among [first, last): `if` by `if`, halving.
std::string dispatch(std::size_t first, std::size_t last) {
  if (last - first == 1) return fmt::format("(.[1] | e{})", first);
  const std::size_t middle = first + (last - first) / 2;
  return fmt::format("if .[0] < {} then {} else {} end", middle, dispatch(first, middle), dispatch(middle, last));
}

// The newline ends a comment that the expression may end in.
std::expected<JqProgram, std::string> compile_all(std::span<const std::string> sources) {
  std::string program = prelude();
  for (std::size_t i = 0; i < sources.size(); ++i) program += fmt::format("def e{}: (\n{}\n);\n", i, sources[i]);
  return JqProgram::compile(program + dispatch(0, sources.size()));
}

// Finds what does not compile by halving. A single one is compiled bare, so that jq's message speaks of the
// expression and not of what we put around it.
void find_refused(std::span<const std::string> sources, std::vector<Expressions::Refusal>& out) {
  if (sources.size() == 1) {
    const auto program = JqProgram::compile(prelude() + sources.front());
    if (!program) out.push_back({.source = sources.front(), .reason = program.error()});
    return;
  }
  if (compile_all(sources)) return;
  find_refused(sources.first(sources.size() / 2), out);
  find_refused(sources.subspan(sources.size() / 2), out);
}

}  // namespace

Expressions::Expressions(JqProgram program, Numbers numbers)
    : program_(std::move(program)), numbers_(std::move(numbers)) {}

auto Expressions::compile(const std::vector<std::string>& sources)
    -> std::expected<std::shared_ptr<const Expressions>, std::vector<Refusal>> {
  Numbers numbers;
  std::vector<std::string> distinct;
  for (const std::string& source : sources) {
    if (numbers.try_emplace(source, distinct.size()).second) distinct.push_back(source);
  }
  // A workflow without expressions has the program that is never run.
  auto program = distinct.empty() ? JqProgram::compile(".") : compile_all(distinct);
  if (program) return std::shared_ptr<const Expressions>(new Expressions(std::move(*program), std::move(numbers)));

  if (const auto bare = JqProgram::compile("."); !bare) {
    return std::unexpected(
        std::vector{Refusal{.source = "", .reason = bare.error() + " (in ~/.jq, which jq reads first)"}});
  }
  std::vector<Refusal> refused;
  if (!distinct.empty()) find_refused(distinct, refused);
  if (refused.empty()) refused.push_back({.source = "", .reason = program.error()});
  return std::unexpected(std::move(refused));
}

Result<Json> Expressions::evaluate(const std::string& source, const JqValue& context) const {
  const auto number = numbers_.find(source);
  AGENTD_CHECK(number != numbers_.end(), "an expression that was not compiled with its workflow");
  auto result = program_.run(number->second, context);
  if (!result)
    return fail(Code::kInvalidParams, fmt::format("`{}`: {}", cut_text(source, 200), cut_text(result.error(), 1000)));
  return std::move(*result);
}

Result<Json> Expressions::value_of(const std::string& text, const JqValue& context) const {
  const auto pieces = split_template(text);
  AGENTD_CHECK(pieces.has_value(), "a template that was not checked when its workflow was loaded");
  if (pieces->size() == 1 && pieces->front().expression) return evaluate(pieces->front().text, context);
  std::string out;
  for (const Piece& piece : *pieces) {
    if (!piece.expression) {
      out += piece.text;
      continue;
    }
    const auto value = evaluate(piece.text, context);
    if (!value) return value;
    out += value->is_string() ? value->get_ref<const std::string&>() : dump_json(*value);
  }
  return out;
}

Result<std::string> Expressions::text_of(const std::string& text, const JqValue& context) const {
  auto value = value_of(text, context);
  if (!value) return std::unexpected(std::move(value.error()));
  return value->is_string() ? value->get<std::string>() : dump_json(*value);
}

}  // namespace agentd::workflow
