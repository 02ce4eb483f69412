#include "client/url.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/check.h"

namespace agentd::client {
namespace {

struct FreeText {
  void operator()(char* text) const { curl_free(text); }
};
using Text = std::unique_ptr<char, FreeText>;

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

// "" when the URL has no such part.
std::string part(CURLU* url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, flags) != CURLUE_OK) return {};
  return Text(text).get();
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

}  // namespace

Result<std::string> canonical_url(const std::string& url) {
  const std::unique_ptr<CURLU, FreeUrl> parsed(curl_url());
  AGENTD_CHECK(parsed != nullptr, "libcurl is out of memory");
  const bool sound = curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), CURLU_GUESS_SCHEME) == CURLUE_OK;
  const std::string scheme = lower(part(parsed.get(), CURLUPART_SCHEME));
  if (!sound || (scheme != "http" && scheme != "https")) {
    return fail(Code::kConfig, fmt::format("'{}' is no URL of a daemon such as http://127.0.0.1:8420", url));
  }
  const std::string port = part(parsed.get(), CURLUPART_PORT, CURLU_NO_DEFAULT_PORT);
  std::string path = part(parsed.get(), CURLUPART_PATH);
  while (path.ends_with('/')) path.pop_back();
  return fmt::format("{}://{}{}{}{}", scheme, lower(part(parsed.get(), CURLUPART_HOST)), port.empty() ? "" : ":", port,
                     path);
}

std::string origin_of(const std::string& canonical) {
  return canonical.substr(0, canonical.find('/', canonical.find("://") + 3));
}

std::string port_of(const std::string& canonical) {
  const std::unique_ptr<CURLU, FreeUrl> parsed(curl_url());
  AGENTD_CHECK(parsed != nullptr, "libcurl is out of memory");
  if (curl_url_set(parsed.get(), CURLUPART_URL, canonical.c_str(), 0) != CURLUE_OK) return {};
  return part(parsed.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
}

bool is_loopback(std::string_view url) {
  if (const auto at = url.find("://"); at != std::string_view::npos) url.remove_prefix(at + 3);
  if (url.starts_with("[::1]")) return true;
  const std::string_view host = url.substr(0, url.find_first_of(":/?#"));
  return host == "localhost" || (host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos);
}

}  // namespace agentd::client
