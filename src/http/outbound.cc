#include "http/outbound.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/check.h"

namespace agentd::http {

namespace {

struct FreeText {
  void operator()(char* text) const { curl_free(text); }
};

// "" when the URL has no such part.
std::string part(CURLU* url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, flags) != CURLUE_OK) return {};
  return std::unique_ptr<char, FreeText>(text).get();
}

// A token of RFC 9110, as a method and the name of a header are.
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return letter || std::string_view("!#$%&'*+-.^_`|~").contains(c);
  });
}

// No line can begin or end within it.
bool is_field_value(std::string_view text) {
  return std::ranges::none_of(text,
                              [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; });
}

// Nothing for what is no URL of HTTP.
std::optional<Destination> parse(const std::string& url) {
  Destination destination{.url{curl_url()}, .place = {}};
  CURLU* parsed = destination.url.get();
  AGENTD_CHECK(parsed != nullptr, "libcurl is out of memory");
  if (url.contains('\0') || curl_url_set(parsed, CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return std::nullopt;
  const std::string scheme = part(parsed, CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") return std::nullopt;
  destination.place =
      fmt::format("{}:{}", part(parsed, CURLUPART_HOST), part(parsed, CURLUPART_PORT, CURLU_DEFAULT_PORT));
  return destination;
}

std::string connect_error(const Failure& failure) {
  long number = 0;
  curl_easy_getinfo(failure.easy, CURLINFO_OS_ERRNO, &number);
  return fmt::format("no connection ({}); see that it runs, and that host and port are right",
                     number == 0 ? "no address answers" : std::generic_category().message(static_cast<int>(number)));
}

std::string trust_error(const Failure& failure, const OutboundRequest& request) {
  long chain = 0;
  curl_easy_getinfo(failure.easy, CURLINFO_SSL_VERIFYRESULT, &chain);
  constexpr long kNotFaulty = 1;  // at most: what libcurl holds until something is wrong with the chain
  if (chain <= kNotFaulty) return fmt::format("its certificate is another host's ({})", failure.detail);
  return fmt::format("its certificate is not trusted ({}); {}", failure.detail,
                     request.ca.empty() ? "if its CA is your own, name the file of that in `ca`"
                                        : fmt::format("see whether '{}' in `ca` holds its CA", request.ca));
}

std::string cut_error(const Failure& failure) {
  long refused = 0;
  curl_easy_getinfo(failure.easy, CURLINFO_HTTP_CONNECTCODE, &refused);
  if (refused >= 300) return fmt::format("the proxy refuses to connect to it (HTTP {})", refused);
  return failure.head_given ? "the connection was cut within the answer" : "the connection ended before the answer";
}

std::string text_of(const Failure& failure, const OutboundRequest& request) {
  switch (failure.code) {
    case CURLE_OPERATION_TIMEDOUT: return fmt::format("no connection in {} ms", request.deadlines.connect_ms);
    case CURLE_COULDNT_RESOLVE_HOST: return "the name has no address; check it, and this machine's DNS";
    case CURLE_COULDNT_RESOLVE_PROXY: return "the name of the proxy has no address; check it, and this machine's DNS";
    case CURLE_COULDNT_CONNECT: return connect_error(failure);
    case CURLE_PEER_FAILED_VERIFICATION: return trust_error(failure, request);
    case CURLE_SSL_CACERT_BADFILE:
      return fmt::format("'{}' in `ca` cannot be read, or holds no certificate in PEM", request.ca);
    case CURLE_SSL_CONNECT_ERROR: return "the other end speaks no TLS, or none that we do; see that the port is right";
    case CURLE_OK:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR: return cut_error(failure);
    default: return curl_easy_strerror(failure.code);
  }
}

}  // namespace

Result<Destination> check(const OutboundRequest& request) {
  if (!is_token(request.method)) return fail(Code::kInvalidParams, "the method of a request is no method of HTTP");
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name)) return fail(Code::kInvalidParams, "the name of a header holds what no name may");
    if (!is_field_value(value)) {
      return fail(Code::kInvalidParams, fmt::format("the value of the header '{}' holds a control character", name));
    }
    if (same_name(name, "Content-Length") || same_name(name, "Transfer-Encoding")) {
      return fail(Code::kInvalidParams, fmt::format("the header '{}' is not for a request to set", name));
    }
  }
  if (!request.proxy.empty() && !parse(request.proxy)) {
    return fail(Code::kInvalidParams, "the URL of the proxy is none such as http://host:port");
  }
  auto destination = parse(request.url);
  if (!destination)
    return fail(Code::kInvalidParams, "that is no URL such as https://host/path or http://host:port/path");
  return *std::move(destination);
}

Error error_of(const Failure& failure, const OutboundRequest& request, const std::string& place) {
  return {.code = failure.code == CURLE_OPERATION_TIMEDOUT ? Code::kTimeout : Code::kUnavailable,
          .message = fmt::format("{}: {}", place, text_of(failure, request))};
}

}  // namespace agentd::http
