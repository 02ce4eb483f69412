#include "config/agent.h"

#include <array>
#include <string_view>

namespace agentd::config {

std::string name_of(const Model& model) {
  constexpr std::array<std::string_view, 3> kNames = {"scripted", "openai", "anthropic"};
  const std::string provider(kNames[static_cast<std::size_t>(model.provider)]);
  return model.provider == Provider::kScripted ? provider : provider + ":" + model.name;
}

std::optional<Approval> approval_of(std::string_view word) {
  if (word == "ask") return Approval::kAsk;
  if (word == "auto") return Approval::kAuto;
  if (word == "accept") return Approval::kAccept;
  return std::nullopt;
}

}  // namespace agentd::config
