#include "runtime/message_text.h"

#include <fmt/format.h>

namespace agentd::runtime {
namespace {

std::string shown(const Json& part) {
  if (part.contains("text")) return part["text"].get<std::string>();
  if (part.contains("data")) return dump_json(part["data"]);
  const std::string type = part.value("mediaType", "of unknown type");
  if (part.contains("url")) return fmt::format("[file {} {}]", part["url"].get<std::string>(), type);
  return fmt::format("[file {} {}, which cannot be shown here]", part.value("filename", "without a name"), type);
}

void add_line(std::string& out, const std::string& line) {
  if (!out.empty()) out += '\n';
  out += line;
}

}  // namespace

std::string text_of(const Json& message) {
  std::string out;
  for (const Json& part : message["parts"]) {
    if (part.contains("text")) add_line(out, part["text"].get<std::string>());
  }
  return out;
}

std::string chat_text_of(const Json& message) {
  std::string out;
  for (const Json& part : message["parts"]) add_line(out, shown(part));
  return out;
}

}  // namespace agentd::runtime
