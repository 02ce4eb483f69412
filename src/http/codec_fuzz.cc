// RequestParser on arbitrary bytes. Cut in two ways, the same bytes must give the same request or refusal;
// and a request that was taken must hold what the contract promises.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "http/codec.h"

namespace {

using agentd::http::ParserLimits;
using agentd::http::RequestParser;

constexpr ParserLimits kLimits{.header_bytes = 2048, .header_fields = 16, .body_bytes = 1024};

struct Outcome {
  RequestParser::State state = RequestParser::State::kHead;
  int status = 0;
  std::size_t consumed = 0;
  agentd::http::Request request;
};

Outcome parse(std::string_view bytes, std::size_t step) {
  RequestParser parser(kLimits);
  Outcome outcome;
  std::size_t arrived = 0;
  while (parser.state() == RequestParser::State::kHead || parser.state() == RequestParser::State::kBody) {
    const auto used = parser.feed(bytes.substr(outcome.consumed, arrived - outcome.consumed));
    AGENTD_CHECK(outcome.consumed + used <= arrived, "consumed more than there was");
    outcome.consumed += used;
    if (used > 0) continue;
    if (arrived == bytes.size()) break;
    arrived += std::min(step, bytes.size() - arrived);
  }
  outcome.state = parser.state();
  if (outcome.state == RequestParser::State::kRefused) outcome.status = parser.refusal().status;
  outcome.request = parser.request();
  return outcome;
}

void check_request(const agentd::http::Request& request) {
  AGENTD_CHECK(request.body.size() <= kLimits.body_bytes, "body over the limit");
  AGENTD_CHECK(request.headers.size() <= kLimits.header_fields, "fields over the limit");
  AGENTD_CHECK(!request.path.contains('\0'), "NUL in the path");
  for (const auto& [name, value] : request.headers) {
    AGENTD_CHECK(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos, "line end in a value");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto whole = parse(bytes, bytes.size() + 1);
  const auto pieces = parse(bytes, data[0] % 16U + 1U);
  AGENTD_CHECK(pieces.state == whole.state && pieces.status == whole.status, "cut bytes give another outcome");
  if (whole.state != RequestParser::State::kDone) return 0;
  check_request(whole.request);
  AGENTD_CHECK(pieces.consumed == whole.consumed && pieces.request.body == whole.request.body &&
                   pieces.request.headers == whole.request.headers && pieces.request.path == whole.request.path,
               "cut bytes give another request");
  return 0;
}
