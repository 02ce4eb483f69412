// ScriptedModel: answers turns from a file of rules instead of a model, so that everything else can be tried,
// shown and tested without a network. docs/scripted-model.md describes the file.
//
// Immutable and thread-safe once loaded. The first rule whose conditions all hold gives the script; every
// model ends in a rule without conditions, the built-in one if the file has none. Bounds: 1,000 rules of
// 1,000 actions, and 1 MiB for a text in which ${…} has been filled in (cut beyond). Cost: one regular
// expression per rule tried; RE2, so linear in the text.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "base/document.h"
#include "llm/script.h"

namespace agentd::llm {

struct TurnInput {
  std::string text = {};        // of the user's message: its text parts, joined
  std::string message_id = {};  // of the user's message
  std::uint64_t turn = 1;       // of the conversation, from 1
};

struct Rule;  // llm/rules.h

class ScriptedModel final {
 public:
  // All the faults of the file, or the model.
  [[nodiscard]] static std::expected<ScriptedModel, std::vector<Fault>> load(const std::string& path);
  [[nodiscard]] static std::expected<ScriptedModel, std::vector<Fault>> parse(const Document& document);
  // Says what it was told, and how to write rules.
  [[nodiscard]] static ScriptedModel built_in();

  // Whether it was made of the same rules.
  [[nodiscard]] bool operator==(const ScriptedModel& other) const { return source_ == other.source_; }

  [[nodiscard]] Script answer(const TurnInput& input) const;

 private:
  ScriptedModel(std::vector<Rule> rules, Json source);

  std::shared_ptr<const std::vector<Rule>> rules_;
  Json source_;  // as they were written
};

}  // namespace agentd::llm
