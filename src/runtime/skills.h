// Skills: folders with a SKILL.md that tell the agent how to do something. The model is told their names and descriptions, and reads one
// by the tool `skill` when it needs it.
//
//   skills/release/SKILL.md:   ---
//                              name: release
//                              description: How a release of this project is made.
//                              ---
//                              First …
//
// Confined to the core thread; load_skills() to any.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "base/document.h"
#include "runtime/conversations.h"
#include "runtime/tools.h"

namespace agentd::runtime {

struct Skill {
  std::string name, description, body;
  std::string folder;  // where its other files are
  bool operator==(const Skill&) const = default;
};

// Those of every folder, by name: `folders` hold a folder for each skill, or are one. Errors: every fault of every SKILL.md.
[[nodiscard]] std::expected<std::vector<Skill>, std::vector<Fault>> load_skills(
    const std::vector<std::string>& folders);

class Skills final : public ToolSource {
 public:
  Skills(net::Loop& loop, Conversations& conversations, std::vector<Skill> skills)
      : loop_(loop), conversations_(conversations), skills_(std::move(skills)) {}

  void replace(std::vector<Skill> skills) {
    skills_ = std::move(skills);
    changed();
  }
  [[nodiscard]] const std::vector<Skill>& all() const { return skills_; }

  void list(std::vector<ToolFacts>& out) const override;
  // The conversation is noted to have read it.
  [[nodiscard]] std::unique_ptr<ToolUse> use(ToolRequest request, ToolListener listener) override;

 private:
  net::Loop& loop_;
  Conversations& conversations_;
  std::vector<Skill> skills_;
};

}  // namespace agentd::runtime
