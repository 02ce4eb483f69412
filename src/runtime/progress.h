// Progress: what a chat turn has done so far, beside what the conversation tells: kept with its task, so that the next life goes on
// with it. Values.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/json.h"

namespace agentd::runtime {

struct Progress {
  std::uint64_t rounds = 0, tokens_in = 0, tokens_out = 0, answers = 0;
  std::uint64_t put_out = 0;  // bytes of what tools gave, as artifacts
  double usd = 0;
  std::int64_t worked_ms = 0;                    // not counting what it waited for people
  std::map<std::string, std::string> decisions;  // call -> "approve", or why not
  std::set<std::string> begun;                   // calls that may have changed something
  bool operator==(const Progress&) const = default;
};

[[nodiscard]] Json to_json(const Progress& progress);
// Of what to_json() gave; a fresh one of null.
[[nodiscard]] Progress progress_from_json(const Json& json);

}  // namespace agentd::runtime
