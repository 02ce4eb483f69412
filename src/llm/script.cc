#include "llm/script.h"

#include <algorithm>
#include <array>

namespace agentd::llm {
namespace {

constexpr std::size_t kMaxPieces = 10'000;

constexpr std::array<std::string_view, 6> kStateNames = {"completed", "failed",         "canceled",
                                                         "rejected",  "input_required", "auth_required"};
static_assert(kStateNames[static_cast<std::size_t>(State::kAuthRequired)] == "auth_required");

}  // namespace

std::string_view to_string(State state) { return kStateNames[static_cast<std::size_t>(state)]; }

std::vector<std::string> pieces(const Chunks& chunks) {
  const std::size_t size = std::max(chunks.size, chunks.text.size() / kMaxPieces + 1);
  std::vector<std::string> out;
  std::size_t at = 0;
  while (at < chunks.text.size()) {
    std::size_t end = std::min(at + size, chunks.text.size());
    while (end < chunks.text.size() && (static_cast<unsigned char>(chunks.text[end]) & 0xC0U) == 0x80U) ++end;
    out.push_back(chunks.text.substr(at, end - at));
    at = end;
  }
  if (out.empty()) out.emplace_back();
  return out;
}

}  // namespace agentd::llm
