#include "runtime/tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/transcript.h"
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

bool may_begin(const ToolFacts& tool, std::size_t under_way, bool all_beside, std::uint64_t most) {
  return under_way == 0 || (tool.beside_others && all_beside && under_way < most);
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

void Tools::add(ToolSource& source) {
  sources_.push_back(&source);
  source.on_changed([this] { refresh(); });
  refresh();
}

const Tools::Listed& Tools::listed() const {
  if (listed_) return *listed_;
  auto made = std::make_unique<Listed>();
  std::set<std::string> names;
  for (ToolSource* source : sources_) {
    std::vector<ToolFacts> own;
    source->list(own);
    for (ToolFacts& tool : own) {
      if (!names.insert(tool.spec.name).second) continue;
      made->tools.push_back(std::move(tool));
      made->sources.push_back(source);
    }
  }
  for (std::size_t i = 0; i < made->tools.size(); ++i) {
    const llm::ToolSpec& spec = made->tools[i].spec;
    made->by_name.emplace(spec.name, i);
    made->tokens += Transcript::tokens_of(spec.name) + Transcript::tokens_of(spec.description) +
                    Transcript::tokens_of(dump_json(spec.schema));
  }
  listed_ = std::move(made);
  return *listed_;
}

const ToolFacts* Tools::find(const std::string& name) const {
  const Listed& all = listed();
  const auto at = all.by_name.find(name);
  return at == all.by_name.end() ? nullptr : &all.tools[at->second];
}

std::unique_ptr<ToolUse> Tools::use(ToolRequest request, ToolListener listener) {
  const Listed& all = listed();
  const auto at = all.by_name.find(request.name);
  if (at == all.by_name.end()) return nullptr;
  ToolSource& source = *all.sources[at->second];
  if (!source.checks_arguments()) {
    std::string misfit = misfit_of(all.tools[at->second].spec.schema, request.arguments);
    if (!misfit.empty()) return done_use(loop_, {.text = std::move(misfit), .is_error = true}, std::move(listener));
  }
  return source.use(std::move(request), std::move(listener));
}

}  // namespace agentd::runtime
