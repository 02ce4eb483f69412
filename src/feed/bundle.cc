#include "feed/bundle.h"

#include <limits>
#include <string>

#include "feed/kind_table.h"
#include "schema/terms.h"

namespace agentd::feed {
namespace {

using namespace schema::terms;

constexpr char kDraft[] = "https://json-schema.org/draft/2020-12/schema";

Json reference(const std::string& pointer) { return {{"$ref", pointer}}; }

// The head of a bundle, before what it says.
Json bundle(std::string_view uri, std::string_view title) {
  return {{"$schema", kDraft}, {"$id", std::string(uri) + "/schema.json"}, {"title", title}};
}

Json params() {
  Json from_seq = count();
  from_seq["maximum"] = std::numeric_limits<std::uint64_t>::max();
  return closed({{"fromSeq?", from_seq}});
}

Json hello() {
  return closed({{"hello", closed({{"seq", count()},
                                   {"resume", count()},
                                   {"resync", flag()},
                                   {"introspection", flag()},
                                   {"version", text()}})}});
}

Json goodbye() {
  return closed({{"goodbye", closed({{"seq", count()}, {"reason", word_of({"deadline", "revoked"})}})}});
}

Json event() {
  Json names = {{"enum", Json::array()}};
  Json bindings = Json::array();
  for_each_row([&](const auto& row) {
    const std::string name(row.name);
    names["enum"].push_back(name);
    bindings.push_back({{"if", {{"properties", {{"kind", exactly(name)}}}, {"required", Json::array({"kind"})}}},
                        {"then", {{"properties", {{"data", reference("#/$defs/kinds/$defs/" + name)}}}}}});
  });
  Json inner = closed({{"seq", count()}, {"ts", count()}, {"kind", names}, {"data", object()}});
  inner["allOf"] = bindings;
  return closed({{"event", inner}});
}

Json kinds() {
  Json out = {{"$defs", Json::object()}};
  for_each_row([&](const auto& row) { out["$defs"][std::string(row.name)] = row.schema(); });
  return out;
}

}  // namespace

Json events_bundle() {
  Json out = bundle(kEventsUri, "A frame of agentd.events/SubscribeToEvents");
  out["oneOf"] = Json::array({reference("#/$defs/hello"), reference("#/$defs/event"), reference("#/$defs/goodbye")});
  out["$defs"] = {
      {"params", params()}, {"hello", hello()}, {"event", event()}, {"goodbye", goodbye()}, {"kinds", kinds()}};
  return out;
}

Json task_annotations_bundle() {
  Json history = list(closed({{"state", text()}, {"ts", text()}}));
  history["items"]["properties"]["state"]["pattern"] = "^TASK_STATE_[A-Z_]+$";
  history["items"]["properties"]["ts"]["format"] = "date-time";
  history["maxItems"] = 64;
  Json created = text();
  created["format"] = "date-time";
  Json out = bundle(kTaskAnnotationsUri, "What agentd says about a Task, in its metadata");
  out.update(closed({{"link", closed({{"kind", word_of({"run", "subagent", "turn"})}, {"id", text()}})},
                     {"created", created},
                     {"statusHistory", history},
                     {"principal?", text()},
                     {"askSchema?", {{"type", Json::array({"object", "boolean"})}}},
                     {"askChannel?", text()},
                     {"command?", text()}}));
  return out;
}

}  // namespace agentd::feed
