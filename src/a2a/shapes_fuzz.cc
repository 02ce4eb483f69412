// The messages of A2A, read by the rules of ProtoJSON: the first byte chooses the message, the rest is its JSON. What
// comes out is in wire form, so it reads as itself, and each part of a message has one content; a refusal names places
// below `params`.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "a2a/shapes.h"
#include "base/check.h"

namespace {

namespace a2a = agentd::a2a;

constexpr std::array kShapes = {&a2a::kSendMessageRequest, &a2a::kGetTaskRequest, &a2a::kListTasksRequest,
                                &a2a::kTaskIdRequest};

void check_parts(const agentd::Json& parts) {
  for (const agentd::Json& part : parts) {
    const auto contents = std::ranges::count_if(std::array{"text", "raw", "url", "data"},
                                                [&part](const char* name) { return part.contains(name); });
    AGENTD_CHECK(contents == 1, "a part has one content");
    AGENTD_CHECK(part.value("raw", "").size() % 4 == 0, "base64 has its padding");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const a2a::Shape& shape = *kShapes.at(data[0] % kShapes.size());
  const auto value = agentd::parse_json({reinterpret_cast<const char*>(data + 1), size - 1});
  if (!value) return 0;
  auto message = a2a::read_shape(shape, *value, "params");
  if (!message) {
    AGENTD_CHECK(!message.error().violations.empty(), "a refusal names what is wrong");
    for (const auto& violation : message.error().violations) {
      AGENTD_CHECK(violation.field.starts_with("params") && !violation.description.empty(), "and where");
    }
    return 0;
  }
  if (message->contains("message")) check_parts(message->at("message").at("parts"));
  message->erase("statusTimestampAfter");  // comes out as milliseconds, which are no RFC 3339
  const auto again = a2a::read_shape(shape, *message, "params");
  AGENTD_CHECK(again.has_value() && *again == *message, "what is in wire form reads as itself");
  return 0;
}
