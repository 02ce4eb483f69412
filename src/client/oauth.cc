#include "client/oauth.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/url.h"

namespace agentd::client {
namespace {

constexpr std::int64_t kMostSeconds = 366LL * 86'400;
constexpr std::size_t kMostToken = 4096;
constexpr Deadlines kDeadlines{.silence_ms = 10'000, .total_ms = 20'000};

// What goes into a header later must not end it.
bool is_token(std::string_view text) {
  return !text.empty() && text.size() <= kMostToken &&
         std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7F; });
}

}  // namespace

Result<HttpResponse> post_form(const Endpoint& daemon, std::string_view path, std::string form, const Stop& stop) {
  const auto base = canonical_url(daemon.url);
  if (!base) return std::unexpected(base.error());
  return http_request(
      {.url = fmt::format("{}{}", *base, path),
       .headers = {{"Content-Type", "application/x-www-form-urlencoded"}, {"Accept", "application/json"}},
       .body = std::move(form),
       .ca = daemon.ca},
      kDeadlines, stop);
}

Json object_of(std::string_view body) {
  auto json = parse_json(body);
  return json && json->is_object() ? std::move(*json) : Json::object();
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t seconds_of(const Json& object, const char* key, std::int64_t otherwise) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return otherwise;
  return std::clamp<std::int64_t>(found->get<std::int64_t>(), 1, kMostSeconds);
}

std::unexpected<Error> no_such_answer(std::string_view what) {
  return fail(Code::kParse, fmt::format("the server answers without {}; is an agentd listening there?", what));
}

Result<Grant> grant_of(const HttpResponse& response) {
  const Json answer = object_of(response.body);
  Grant grant{.token = text_of(answer, "access_token"),
              .scope = text_of(answer, "scope"),
              .expires_s = seconds_of(answer, "expires_in", 0)};
  if (!is_token(grant.token)) return no_such_answer("a token");
  return grant;
}

}  // namespace agentd::client
