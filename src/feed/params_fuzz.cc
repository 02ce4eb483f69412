// The params of SubscribeToEvents, any JSON text. A cursor that is taken is the digits that were asked for; a refusal
// names each offending member, once.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "feed/params.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto params = agentd::parse_json({reinterpret_cast<const char*>(data), size});
  if (!params) return 0;
  const auto cursor = agentd::feed::validate_params(&*params);
  if (cursor) {
    AGENTD_CHECK(params->is_object() && params->size() <= 1, "params have one member at most");
    const std::string asked = params->empty() ? "0" : agentd::dump_json(params->at("fromSeq"));
    AGENTD_CHECK(asked == std::to_string(*cursor), "the cursor is the one that was asked for");
    return 0;
  }
  const auto& violations = cursor.error().violations;
  AGENTD_CHECK(cursor.error().code == agentd::Code::kInvalidParams, "a fault of the params");
  if (!params->is_object()) {
    AGENTD_CHECK(violations.size() == 1 && violations[0].field == "params", "the whole is at fault");
    return 0;
  }
  std::size_t expected = 0;
  for (const auto& [key, value] : params->items()) {
    const std::string text = agentd::dump_json(value);
    if (key == "fromSeq" && text.find_first_not_of("0123456789") == std::string::npos) continue;
    AGENTD_CHECK(expected < violations.size() && violations[expected].field == "params." + key, "each is named");
    ++expected;
  }
  AGENTD_CHECK(violations.size() == expected, "and no other");
  return 0;
}
