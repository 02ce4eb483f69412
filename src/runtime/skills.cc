#include "runtime/skills.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/faults.h"

namespace agentd::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBytes = 256U << 10U;  // of a SKILL.md
constexpr std::size_t kMaxSkills = 200;
constexpr char kTool[] = "skill";
constexpr std::string_view kFence = "---\n";

std::vector<fs::path> files_in(const std::string& folder) {
  std::error_code none;
  const fs::path own = fs::path(folder) / "SKILL.md";
  if (fs::exists(own, none)) return {own};
  std::vector<fs::path> out;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    if (fs::exists(entry.path() / "SKILL.md", none)) out.push_back(entry.path() / "SKILL.md");
  }
  std::ranges::sort(out);
  return out;
}

std::expected<Skill, std::vector<Fault>> load(const fs::path& path) {
  const auto fault = [&](std::string message) {
    return std::unexpected(std::vector<Fault>{{.file = path.string(), .message = std::move(message)}});
  };
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) return fault("cannot be read");
  if (text.size() > kMaxBytes) return fault(fmt::format("is longer than {} bytes", kMaxBytes));
  const std::size_t end = text.starts_with(kFence) ? text.find("\n---", kFence.size() - 1) : std::string::npos;
  if (end == std::string::npos)
    return fault("must begin with a block of name and description between two lines of ---");
  auto head = parse_document(text.substr(0, end + 1), path.string());
  if (!head) return std::unexpected(std::move(head.error()));
  Faults faults(*head);
  Skill skill;
  skill.folder = path.parent_path().string();
  for (const auto& [key, value] : {std::pair{"name", &skill.name}, std::pair{"description", &skill.description}}) {
    const Json given = head->value.is_object() ? head->value.value(key, Json()) : Json();
    if (!given.is_string() || given == "") faults.add(key, "must be a text");
    if (given.is_string()) *value = given.get<std::string>();
  }
  if (auto found = faults.take(); !found.empty()) return std::unexpected(std::move(found));
  const std::size_t body = text.find('\n', end + 1);
  if (body != std::string::npos) skill.body = text.substr(body + 1);
  return skill;
}

}  // namespace

std::expected<std::vector<Skill>, std::vector<Fault>> load_skills(const std::vector<std::string>& folders) {
  std::vector<Skill> out;
  std::vector<Fault> faults;
  for (const std::string& folder : folders) {
    std::error_code none;
    if (!fs::is_directory(folder, none)) faults.push_back({.file = folder, .message = "is not a folder of skills"});
    for (const fs::path& path : files_in(folder)) {
      auto skill = load(path);
      if (!skill) {
        std::ranges::move(skill.error(), std::back_inserter(faults));
      } else if (std::ranges::find(out, skill->name, &Skill::name) != out.end()) {
        faults.push_back({.file = path.string(), .path = "name", .message = "is the name of another skill too"});
      } else {
        out.push_back(*std::move(skill));
      }
    }
  }
  if (out.size() > kMaxSkills) {
    faults.push_back({.file = folders.front(), .message = fmt::format("there are more than {} skills", kMaxSkills)});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return out;
}

void Skills::list(std::vector<ToolFacts>& out) const {
  if (skills_.empty()) return;
  std::string about = "Reads how to do something, step by step. Read the skill that fits before you begin. There are:";
  Json names = Json::array();
  for (const Skill& skill : skills_) {
    about += fmt::format("\n- {}: {}", skill.name, skill.description);
    names.push_back(skill.name);
  }
  Json schema = {{"type", "object"},
                 {"properties", {{"name", {{"type", "string"}, {"enum", std::move(names)}}}}},
                 {"required", Json::array({"name"})}};
  out.push_back({.spec = {.name = kTool, .description = std::move(about), .schema = std::move(schema)},
                 .read_only = true,
                 .beside_others = true,
                 .is_own = true});
}

std::unique_ptr<ToolUse> Skills::use(ToolRequest request, ToolListener listener) {
  const Json name = request.arguments.value("name", Json());
  const auto skill = std::ranges::find_if(skills_, [&](const Skill& known) { return name == known.name; });
  ToolOutcome outcome{.text = "There is no such skill.", .is_error = true};
  if (skill != skills_.end()) {
    outcome = {.text = fmt::format("{}\n\n(The files of this skill are in {}.)", skill->body, skill->folder)};
    conversations_.note_skill(conversations_.open(request.principal, request.context), skill->name);
  }
  return done_use(loop_, std::move(outcome), std::move(listener));
}

}  // namespace agentd::runtime
