#include "daemon/public_pages.h"

#include <fmt/format.h>

#include "command/ops.h"
#include "embedded/command_examples.h"
#include "embedded/extensions.h"
#include "embedded/task_annotations_examples.h"
#include "feed/bundle.h"
#include "feed/golden.h"

namespace agentd::daemon {
namespace {

constexpr int kCardAgeS = 60;
constexpr int kStaticAgeS = 3600;

}  // namespace

std::string extension_schema(const std::string& name) {
  constexpr int kIndent = 2;
  if (name == "events") return feed::events_bundle().dump(kIndent) + "\n";
  if (name == "command") return command::command_bundle().dump(kIndent) + "\n";
  if (name == "task-annotations") return feed::task_annotations_bundle().dump(kIndent) + "\n";
  return "";
}

wire::Pages public_pages(const a2a::CardFacts& facts) {
  wire::Pages pages;
  pages.add("/.well-known/agent-card.json", "application/json", dump_json(a2a::public_card(facts)), kCardAgeS);
  pages.add("/healthz", "application/json", R"({"status":"ok"})", 0);
  for (const auto& [file, text] : embedded::extensions::kFiles) {
    const std::string name(file.substr(0, file.find('.')));
    pages.add("/a2a/ext/" + name, "text/markdown; charset=utf-8", std::string(text), kStaticAgeS);
    pages.add("/a2a/ext/" + name + "/schema.json", "application/schema+json", extension_schema(name), kStaticAgeS);
  }
  const auto add_example = [&pages](a2a::Extension extension, std::string_view file, std::string_view text) {
    pages.add(fmt::format("/a2a/ext/{}/examples/{}", a2a::name(extension), file), "application/json", std::string(text),
              kStaticAgeS);
  };
  for (const auto& [name, text] : feed::golden_frames()) add_example(a2a::Extension::kEvents, name + ".json", text);
  for (const auto& [file, text] : embedded::command_examples::kFiles) {
    add_example(a2a::Extension::kCommand, file, text);
  }
  for (const auto& [file, text] : embedded::task_annotations_examples::kFiles) {
    add_example(a2a::Extension::kTaskAnnotations, file, text);
  }
  return pages;
}

}  // namespace agentd::daemon
