// The agent card (a2a.md section 7): what the daemon says of itself, in public and to a named caller.
// Pure: values in, JSON out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "a2a/extensions.h"
#include "base/json.h"

namespace agentd::a2a {

struct Skill {
  std::string id, name, description;
};

struct CardFacts {
  std::string name, description, version;
  std::string url;      // of the JSON-RPC interface
  bool bearer = false;  // a bearer token is one way in
  std::vector<Skill> skills;
  Extensions declared;
  Json ops = Json::array();  // [{op, reply}] of the command extension
};

// What the extended card adds for one caller.
struct CallerFacts {
  std::uint64_t ring = 0;
  std::vector<std::string> kinds;
  Json ops = Json::array();
  // Left out when empty:
  Json commands = Json::array();  // [{op, workflow, schema?}]: ops that workflows declare
  Json settable = Json::array();  // paths of admin.set
};

[[nodiscard]] Json public_card(const CardFacts& facts);
[[nodiscard]] Json extended_card(const CardFacts& facts, const CallerFacts& caller);

}  // namespace agentd::a2a
