#include "base/redact.h"

#include <algorithm>
#include <utility>

namespace agentd {

namespace {

struct Found {
  std::size_t begin;
  std::size_t end;
};

}  // namespace

Redactor::Redactor(std::vector<std::string> secrets) : secrets_(std::move(secrets)) {
  std::erase_if(secrets_, [](const std::string& secret) { return secret.size() < kShortest; });
}

std::string Redactor::redact(std::string_view text) const {
  std::vector<Found> found;
  for (const std::string& secret : secrets_) {
    // The next one may begin within this one.
    for (auto at = text.find(secret); at != std::string_view::npos; at = text.find(secret, at + 1)) {
      found.push_back({at, at + secret.size()});
    }
  }
  std::ranges::sort(found, {}, &Found::begin);
  std::string out;
  std::size_t done = 0;
  for (const auto& [begin, end] : found) {
    if (done == 0 || begin > done) {
      out += text.substr(done, begin - done);
      out += "***";
    }
    done = std::max(done, end);
  }
  return out += text.substr(done);
}

Json Redactor::redact_json(Json value) const {
  if (value.is_string()) return redact(value.get_ref<const std::string&>());
  if (value.is_array()) {
    for (Json& item : value) item = redact_json(std::move(item));
  }
  if (!value.is_object()) return value;
  bool names_stay = true;
  for (auto& [name, item] : value.items()) {
    item = redact_json(std::move(item));
    names_stay = names_stay && redact(name) == name;
  }
  if (names_stay) return value;
  Json out = Json::object();
  for (auto& [name, item] : value.items()) out[redact(name)] = std::move(item);
  return out;
}

}  // namespace agentd
