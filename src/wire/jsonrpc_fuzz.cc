// read_envelope on arbitrary bytes. What is taken, written again, is the same envelope; what is refused is answered
// under an id that is the request's own or null; either answer is JSON on one line.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "wire/jsonrpc.h"

namespace {

using agentd::Json;

bool may_be_id(const Json& id) { return id.is_string() || id.is_number_integer(); }

// The answer's id, of a text that must be JSON on one line.
Json id_of(std::string_view answer) {
  AGENTD_CHECK(!answer.contains('\n'), "an answer is one line");
  const auto parsed = agentd::parse_json(answer, {.bytes = std::size_t{64} << 20U, .depth = 256});
  AGENTD_CHECK(parsed.has_value(), "an answer is JSON");
  return parsed->at("id");
}

void check_taken(const agentd::wire::Envelope& envelope, std::string_view body) {
  // As text: the library takes 2^64-1 and -1 for equal.
  AGENTD_CHECK(agentd::dump_json(envelope.id) == agentd::dump_json(Json::parse(body).at("id")), "the id is as it came");
  AGENTD_CHECK(may_be_id(envelope.id), "an answer can be given under the id");
  AGENTD_CHECK(envelope.params.is_object() || envelope.params.is_null(), "params are an object or absent");
  AGENTD_CHECK(id_of(agentd::wire::result_text(envelope.id, "done")) == envelope.id, "the id comes back as it was");
  if (envelope.unkept) {
    AGENTD_CHECK(id_of(agentd::wire::error_response(envelope.id, *envelope.unkept).body) == envelope.id,
                 "the id comes back as it was");
    return;
  }
  Json request = {{"jsonrpc", "2.0"}, {"id", envelope.id}, {"method", envelope.method}};
  if (!envelope.params.is_null()) request["params"] = envelope.params;
  const auto again = agentd::wire::read_envelope(agentd::dump_json(request));
  AGENTD_CHECK(again.has_value(), "what was taken is taken again");
  AGENTD_CHECK(again->id == envelope.id && again->method == envelope.method && again->params == envelope.params,
               "and is the same");
}

void check_refused(const agentd::wire::Refusal& refusal) {
  AGENTD_CHECK(!refusal.error.message.empty() && refusal.error.message.size() < 1024, "a refusal says why, in short");
  AGENTD_CHECK(refusal.id.is_null() || may_be_id(refusal.id), "a refusal is answered under an id or null");
  AGENTD_CHECK(id_of(agentd::wire::error_response(refusal.id, refusal.error).body) == refusal.id,
               "the id comes back as it was");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  if (const auto envelope = agentd::wire::read_envelope(body); envelope) {
    check_taken(*envelope, body);
  } else {
    check_refused(envelope.error());
  }
  return 0;
}
