// Any bytes are a document or faults, within the bounds of base/document.h; what is a document can be written
// as JSON.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/document.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = agentd::parse_document(text, "fuzz");
  if (document) {
    AGENTD_CHECK(agentd::parse_json(agentd::dump_json(document->value), {.bytes = 64U << 20U, .depth = 64}).has_value(),
                 "a document is JSON");
  } else {
    AGENTD_CHECK(!document.error().empty(), "a refusal says why");
    for (const agentd::Fault& fault : document.error()) AGENTD_CHECK(!to_string(fault).empty(), "a fault has a text");
  }
  return 0;
}
