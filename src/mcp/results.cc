#include "mcp/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "mcp/fields.h"

namespace agentd::mcp {
namespace {

constexpr std::size_t kMostTools = 1'000;
constexpr std::size_t kDescriptionBytes = 8U << 10U;
constexpr std::size_t kTextBytes = 256U << 10U;
constexpr std::size_t kContentBytes = 8U << 20U;

// How many bytes a text in Base64 stands for.
std::size_t decoded_size(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  return text.size() * 3 / 4;
}

std::string shown_resource(const Json& resource) {
  const std::string uri = text_field(resource, "uri");
  if (field(resource, "text").is_string()) return fmt::format("[resource {}]\n{}", uri, text_field(resource, "text"));
  return fmt::format("[resource {} {}, {} bytes]", uri, text_field(resource, "mimeType"),
                     decoded_size(text_field(resource, "blob")));
}

// One block of content as a model reads it.
std::string shown(const Json& block) {
  const std::string type = text_field(block, "type");
  if (type == "text") return text_field(block, "text");
  if (type == "resource") return shown_resource(field(block, "resource"));
  if (type == "resource_link")
    return fmt::format("[resource {} {}]", text_field(block, "uri"), text_field(block, "name"));
  if (type != "image" && type != "audio") return fmt::format("[{}]", type);
  return fmt::format("[{} {}, {} bytes]", type, text_field(block, "mimeType"), decoded_size(text_field(block, "data")));
}

}  // namespace

bool read_tools(const Json& page, std::vector<Tool>& out) {
  for (const Json& one : field(page, "tools")) {
    Tool tool{.name = text_field(one, "name"),
              .description = cut_text(text_field(one, "description"), kDescriptionBytes),
              .schema = field(one, "inputSchema"),
              .read_only = field(field(one, "annotations"), "readOnlyHint") == true};
    const bool is_known = std::ranges::find(out, tool.name, &Tool::name) != out.end();
    if (tool.name.empty() || !tool.schema.is_object() || is_known) continue;
    if (out.size() == kMostTools) return false;
    out.push_back(std::move(tool));
  }
  return true;
}

ToolResult read_result(const Json& result) {
  if (!result.is_object()) return {.text = "The tool gave no result.", .is_error = true};
  ToolResult out{.structured = field(result, "structuredContent"), .is_error = field(result, "isError") == true};
  for (const Json& block : field(result, "content")) {
    if (!block.is_object()) continue;
    if (!out.text.empty()) out.text += '\n';
    out.text += shown(block);
    out.content.push_back(block);
  }
  if (dump_json(out.content).size() + dump_json(out.structured).size() > kContentBytes) {
    return {.text = fmt::format("The tool gave more than {} MiB, which is too much.", kContentBytes >> 20U),
            .is_error = true};
  }
  if (out.text.empty() && !out.structured.is_null()) out.text = dump_json(out.structured);
  out.text = cut_text(out.text, kTextBytes);
  return out;
}

Redactor redactor_of(const config::McpServer& config) {
  std::vector<std::string> secrets;
  for (const auto& [name, value] : config.env) secrets.push_back(value);
  for (const auto& [name, value] : config.headers) secrets.push_back(value);
  for (const auto& [name, secret] : config.secret_env) secrets.push_back(secret.value);
  for (const auto& [name, secret] : config.secret_headers) secrets.push_back(secret.value);
  return Redactor(std::move(secrets));
}

}  // namespace agentd::mcp
