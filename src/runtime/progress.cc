#include "runtime/progress.h"

namespace agentd::runtime {

Json to_json(const Progress& progress) {
  return {{"rounds", progress.rounds},    {"in", progress.tokens_in},    {"out", progress.tokens_out},
          {"answers", progress.answers},  {"put_out", progress.put_out}, {"usd", progress.usd},
          {"worked", progress.worked_ms}, {"begun", progress.begun},     {"decisions", progress.decisions}};
}

Progress progress_from_json(const Json& json) {
  if (!json.is_object()) return {};
  return {.rounds = json.value("rounds", std::uint64_t{0}),
          .tokens_in = json.value("in", std::uint64_t{0}),
          .tokens_out = json.value("out", std::uint64_t{0}),
          .answers = json.value("answers", std::uint64_t{0}),
          .put_out = json.value("put_out", std::uint64_t{0}),
          .usd = json.value("usd", 0.0),
          .worked_ms = json.value("worked", std::int64_t{0}),
          .decisions = json.value("decisions", std::map<std::string, std::string>{}),
          .begun = json.value("begun", std::set<std::string>{})};
}

}  // namespace agentd::runtime
