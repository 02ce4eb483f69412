#include "runtime/tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "schema/validator.h"

namespace agentd::runtime {
namespace {

class DoneUse final : public ToolUse {
 public:
  DoneUse(net::Loop& loop, ToolOutcome outcome, ToolListener listener) : timer_(loop) {
    timer_.arm(0,
               [outcome = std::move(outcome), done = std::move(listener.done)]() mutable { done(std::move(outcome)); });
  }

 private:
  net::Timer timer_;
};

}  // namespace

void make_ids_unique(std::vector<llm::ToolCall>& calls) {
  std::set<std::string> ids;
  for (llm::ToolCall& call : calls) {
    const std::string id = call.id;
    for (int n = 2; !ids.insert(call.id).second; ++n) call.id = fmt::format("{}-{}", id, n);
  }
}

bool must_be_asked(config::Approval approval, const ToolFacts& tool) {
  if (approval == config::Approval::kAccept || tool.is_own) return false;
  return approval == config::Approval::kAsk || !tool.read_only;
}

std::string misfit_of(const Json& schema, const Json& arguments) {
  const auto compiled = schema::compile(schema);
  if (!compiled) return "";
  std::string out;
  for (const FieldViolation& miss : compiled->validate(arguments, "arguments")) {
    out += fmt::format("{} {} {}", out.empty() ? "The arguments do not fit:" : ";", miss.field, miss.description);
  }
  return out;
}

std::unique_ptr<ToolUse> done_use(net::Loop& loop, ToolOutcome outcome, ToolListener listener) {
  return std::make_unique<DoneUse>(loop, std::move(outcome), std::move(listener));
}

bool Tools::are_starting() const {
  return std::ranges::any_of(sources_, [](const ToolSource* source) { return source->is_starting(); });
}

std::vector<ToolFacts> Tools::all() const {
  std::vector<ToolFacts> listed;
  for (const ToolSource* source : sources_) source->list(listed);
  std::set<std::string> names;
  std::erase_if(listed, [&names](const ToolFacts& tool) { return !names.insert(tool.spec.name).second; });
  return listed;
}

std::optional<ToolFacts> Tools::find(const std::string& name) const {
  for (ToolFacts& tool : all()) {
    if (tool.spec.name == name) return std::move(tool);
  }
  return std::nullopt;
}

std::unique_ptr<ToolUse> Tools::use(ToolRequest request, ToolListener listener) {
  for (ToolSource* source : sources_) {
    std::vector<ToolFacts> listed;
    source->list(listed);
    const auto tool = std::ranges::find(listed, request.name, [](const ToolFacts& facts) { return facts.spec.name; });
    if (tool == listed.end()) continue;
    if (!source->checks_arguments()) {
      std::string misfit = misfit_of(tool->spec.schema, request.arguments);
      if (!misfit.empty()) return done_use(loop_, {.text = std::move(misfit), .is_error = true}, std::move(listener));
    }
    return source->use(std::move(request), std::move(listener));
  }
  return nullptr;
}

}  // namespace agentd::runtime
