#include "http/target.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ranges>

#include "base/json.h"
#include "http/message.h"

namespace agentd::http {

namespace {

enum class Plus : std::uint8_t { kIsPlus, kIsSpace };

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> decode(std::string_view text, Plus plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      if (text[i] == '\0') return fail(Code::kInvalidRequest, "a NUL");
      out += text[i] == '+' && plus == Plus::kIsSpace ? ' ' : text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return fail(Code::kInvalidRequest, "malformed escape");
    if (high == 0 && low == 0) return fail(Code::kInvalidRequest, "a NUL");
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  const bool ascii = std::ranges::all_of(out, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (!ascii && to_utf8(out) != out) return fail(Code::kInvalidRequest, "what was escaped is not UTF-8");
  return out;
}

// Takes "http://host" off the front of an absolute target, and gives the host.
std::string_view take_authority(std::string_view& target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!same_name(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    const auto authority = target.substr(0, target.find_first_of("/?"));
    target.remove_prefix(authority.size());
    return authority;
  }
  return {};
}

}  // namespace

Result<Query> parse_query(std::string_view text) {
  Query query;
  for (const auto part : std::views::split(text, '&')) {
    const std::string_view pair(part);
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    auto name = decode(pair.substr(0, equals), Plus::kIsSpace);
    if (!name) return std::unexpected(name.error());
    auto value = decode(equals == std::string_view::npos ? "" : pair.substr(equals + 1), Plus::kIsSpace);
    if (!value) return std::unexpected(value.error());
    query.emplace_back(std::move(*name), std::move(*value));
  }
  return query;
}

Result<Target> parse_target(std::string_view target, std::string_view method) {
  const bool plain = std::ranges::all_of(target, [](char c) { return c > 0x20 && c < 0x7f && c != '#'; });
  if (!plain) return fail(Code::kInvalidRequest, "character in the target that has to be escaped");
  if (target == "*" && method == "OPTIONS") return Target{.path = "*"};

  Target out;
  if (!target.starts_with('/')) {
    out.authority = take_authority(target);
    if (out.authority.empty()) return fail(Code::kInvalidRequest, "the target is no path");
  }
  const auto mark = target.find('?');
  auto path = decode(target.substr(0, mark), Plus::kIsPlus);
  if (!path) return std::unexpected(path.error());
  out.path = path->empty() ? "/" : std::move(*path);
  if (mark != std::string_view::npos) {
    auto query = parse_query(target.substr(mark + 1));
    if (!query) return std::unexpected(query.error());
    out.query = *std::move(query);
  }
  return out;
}

std::string to_form_text(std::string_view text) {
  if (text.empty()) return "";  // a length of 0 means up to a NUL to libcurl
  const std::unique_ptr<char, decltype(&curl_free)> escaped(
      curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())), curl_free);
  return escaped ? escaped.get() : "";
}

std::string form_of(const Query& fields) {
  std::string form;
  for (const auto& [name, value] : fields) {
    form += fmt::format("{}{}={}", form.empty() ? "" : "&", to_form_text(name), to_form_text(value));
  }
  return form;
}

}  // namespace agentd::http
