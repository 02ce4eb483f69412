#include "http/message.h"

#include <strings.h>

#include <algorithm>

namespace agentd::http {

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::optional<std::string_view> Request::header(std::string_view name) const {
  const auto found = std::ranges::find_if(headers, [name](const auto& field) { return same_name(field.first, name); });
  if (found == headers.end()) return std::nullopt;
  return found->second;
}

std::string Request::header_list(std::string_view name) const {
  std::string all;
  bool first = true;
  for (const auto& [field, value] : headers) {
    if (!same_name(field, name)) continue;
    if (!first) all += ", ";
    first = false;
    all += value;
  }
  return all;
}

std::optional<std::string_view> Request::param(std::string_view name) const {
  const auto found = std::ranges::find(query, name, [](const auto& pair) { return std::string_view(pair.first); });
  if (found == query.end()) return std::nullopt;
  return found->second;
}

}  // namespace agentd::http
