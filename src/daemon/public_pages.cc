#include "daemon/public_pages.h"

#include "command/ops.h"
#include "embedded/extensions.h"
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
  for (const auto& [name, text] : feed::golden_frames()) {
    pages.add("/a2a/ext/events/examples/" + name + ".json", "application/json", text, kStaticAgeS);
  }
  return pages;
}

}  // namespace agentd::daemon
