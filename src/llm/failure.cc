#include "llm/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <string>

namespace agentd::llm {
namespace {

constexpr std::int64_t kMostRetryAfterMs = 300'000;

// What `type` or `code` of an error says that the same request will meet again, in the words of the two APIs and of vLLM.
constexpr std::array<std::string_view, 14> kLasting = {
    "invalid_request_error", "authentication_error", "permission_error", "not_found_error",         "request_too_large",
    "billing_error",         "insufficient_quota",   "invalid_api_key",  "context_length_exceeded", "model_not_found",
    "content_filter",        "BadRequestError",      "NotFoundError",    "AuthenticationError"};

bool is_lasting(std::int64_t status) {
  const bool passing = status == 408 || status == 409 || status == 425 || status == 429;
  return status >= 300 && status < 500 && !passing;
}

bool is_lasting(const Json& error) {
  if (!error.is_object()) return false;
  return std::ranges::any_of(std::array{"type", "code", "status"}, [&error](const char* key) {
    const auto value = error.find(key);
    if (value == error.end()) return false;
    if (value->is_number_integer()) return is_lasting(value->get<std::int64_t>());
    return value->is_string() && std::ranges::find(kLasting, value->get<std::string>()) != kLasting.end();
  });
}

// Of {"error": {…}}, {"error": "…"}, and what has its members on top, as vLLM's errors do.
const Json& error_of(const Json& document) {
  const auto error = document.is_object() ? document.find("error") : document.end();
  return error == document.end() || error->is_null() ? document : *error;
}

std::string words_of(const Json& error) {
  if (error.is_string()) return error;
  if (!error.is_object()) return {};
  for (const char* key : {"message", "detail", "type"}) {
    if (const auto text = error.find(key); text != error.end() && text->is_string()) return *text;
  }
  return {};
}

std::string advice_on(int status, std::string_view model) {
  if (status < 400) return "it redirects, which is not followed; put the final address in `endpoint` of agent.model";
  switch (status) {
    case 401: return "it refuses the key; see `api_key` of agent.model";
    case 403: return "it forbids this; see what the key in `api_key` of agent.model may use";
    case 404:
      return fmt::format("nothing there; see `endpoint` of agent.model, and whether there is a model '{}'", model);
    case 413: return "the request is too large for it; lower `context_tokens` of agent.model";
    case 429: return "too many requests, or no credit left";
    default: return is_lasting(status) ? "it refuses the request; see `model` of agent.model" : "it cannot answer now";
  }
}

}  // namespace

Error failure_of_status(int status, std::string_view body, std::string_view model) {
  const auto document = parse_json(body);
  const Json error = document ? error_of(*document) : Json();
  std::string message = fmt::format("{} (HTTP {})", advice_on(status, model), status);
  // A page for browsers, of a proxy in between, has no words for this place.
  const auto start = body.find_first_not_of(" \t\r\n");
  const bool is_page = start != std::string_view::npos && body[start] == '<';
  const std::string words = document ? words_of(error) : is_page ? std::string() : to_utf8(body);
  if (!words.empty()) message += ": " + words;
  const bool lasting = status < 500 && (is_lasting(status) || is_lasting(error));
  return {.code = lasting ? Code::kConfig : Code::kUnavailable, .message = std::move(message)};
}

Error failure_of_document(const Json& document) {
  const Json& error = error_of(document);
  const bool lasting = is_lasting(error);
  return {.code = lasting ? Code::kConfig : Code::kUnavailable,
          .message = fmt::format("it {}: {}", lasting ? "refuses the request" : "broke off", words_of(error))};
}

std::int64_t retry_after_ms(std::string_view header, std::int64_t wall_ms) {
  std::uint64_t seconds = 0;
  const auto* end = header.data() + header.size();
  if (const auto read = std::from_chars(header.data(), end, seconds); read.ec == std::errc() && read.ptr == end) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(seconds, kMostRetryAfterMs / 1000)) * 1000;
  }
  std::tm date{};
  const char* rest = ::strptime(std::string(header).c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (rest == nullptr) return 0;
  return std::clamp<std::int64_t>(std::int64_t{::timegm(&date)} * 1000 - wall_ms, 0, kMostRetryAfterMs);
}

}  // namespace agentd::llm
