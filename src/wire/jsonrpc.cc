#include "wire/jsonrpc.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/reason.h"
#include "wire/error_map.h"

namespace agentd::wire {
namespace {

constexpr char kJson[] = "application/json";
constexpr std::size_t kReasonBytes = 300;  // of what is wrong with a body, which may quote it

std::unexpected<Refusal> refuse(Code code, std::string message, Json id = nullptr) {
  return std::unexpected(Refusal{.error = {.code = code, .message = std::move(message)}, .id = std::move(id)});
}

// The request's id when it is one that can be answered under, or null.
Json sound_id(const Json& request) {
  if (!request.is_object()) return {};
  const auto id = request.find("id");
  return id != request.end() && (id->is_string() || id->is_number_integer()) ? *id : Json();
}

std::string metadata_value(const Error& error, std::string_view key) {
  const auto at = std::ranges::find(error.metadata, key, &std::pair<std::string, std::string>::first);
  return at == error.metadata.end() ? "" : at->second;
}

}  // namespace

std::expected<Envelope, Refusal> read_envelope(std::string_view body) {
  auto parsed = parse_json(body);
  std::optional<Error> unkept;
  if (!parsed && parsed.error().code == Code::kInvalidParams) {
    // Sound and bounded JSON with a number that cannot be kept: a fault of the params, told when it is their turn.
    unkept = std::move(parsed.error());
    parsed = Json::parse(body);
  }
  if (!parsed) return refuse(Code::kParse, "the body is " + cut_text(parsed.error().message, kReasonBytes));
  Json& request = *parsed;
  if (request.is_array()) return refuse(Code::kInvalidRequest, "batches are not served; send one request at a time");
  if (!request.is_object()) return refuse(Code::kInvalidRequest, "a request is a JSON object");
  const Json id = sound_id(request);
  if (id.is_null()) {
    return refuse(Code::kInvalidRequest, "'id' must be a string or an integer; it names the answer");
  }
  if (request.value("jsonrpc", Json()) != "2.0") return refuse(Code::kInvalidRequest, R"('jsonrpc' must be "2.0")", id);
  const Json method = request.value("method", Json());
  if (!method.is_string()) return refuse(Code::kInvalidRequest, "'method' must be a string", id);
  Json params = request.value("params", Json());
  if (request.contains("params") && !params.is_object()) {
    Refusal refusal{.error = {.code = Code::kInvalidParams,
                              .message = "'params' must be an object",
                              .violations = {{"params", "must be an object"}}},
                    .id = id};
    return std::unexpected(std::move(refusal));
  }
  return Envelope{.id = id, .method = method, .params = std::move(params), .unkept = std::move(unkept)};
}

std::string result_text(const Json& id, const Json& result) { return result_text(id, JsonText(dump_json(result))); }

std::string result_text(const Json& id, const JsonText& result) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", dump_json(id), result.text);
}

Json error_json(const Error& error) {
  const ErrorRow row = error_row(error.code);
  Json data = Json::array();
  if (!error.violations.empty()) {
    Json violations = Json::array();
    for (const FieldViolation& v : error.violations)
      violations.push_back({{"field", v.field}, {"description", v.description}});
    data.push_back(
        {{"@type", "type.googleapis.com/google.rpc.BadRequest"}, {"fieldViolations", std::move(violations)}});
  }
  if (const std::string_view reason = reason_of(error.code); !reason.empty()) {
    Json info = {{"@type", "type.googleapis.com/google.rpc.ErrorInfo"}, {"reason", reason}, {"domain", row.domain}};
    info["metadata"] = Json::object();
    for (const auto& [key, value] : error.metadata) info["metadata"][key] = value;
    data.push_back(std::move(info));
  }
  Json out = {{"code", row.json_rpc}, {"message", error.message}};
  if (!data.empty()) out["data"] = std::move(data);
  return out;
}

http::Response result_response(std::string result_text) {
  return {.status = 200, .headers = {{"Content-Type", kJson}}, .body = std::move(result_text)};
}

http::Response error_response(const Json& id, const Error& error) {
  const ErrorRow row = error_row(error.code);
  http::Response response{.status = row.http,
                          .headers = {{"Content-Type", kJson}},
                          .body = dump_json({{"jsonrpc", "2.0"}, {"id", id}, {"error", error_json(error)}})};
  if (row.http == 401) {
    const std::string invalid = metadata_value(error, "error");
    response.headers.emplace_back("WWW-Authenticate", invalid.empty()
                                                          ? R"(Bearer realm="agentd")"
                                                          : R"(Bearer realm="agentd", error="invalid_token")");
  }
  if (const std::string after = metadata_value(error, "retryAfterSeconds"); row.http == 429 && !after.empty()) {
    response.headers.emplace_back("Retry-After", after);
  }
  return response;
}

}  // namespace agentd::wire
