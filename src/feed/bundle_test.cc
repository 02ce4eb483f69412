// The bundles and the golden frames, and the copies of both that are committed under schema/. With
// AGENTD_UPDATE_GOLDEN=1 the copies are written instead of compared.
#include "feed/bundle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "feed/golden.h"
#include "feed/kinds.h"
#include "schema/validator.h"

namespace agentd::feed {
namespace {

namespace fs = std::filesystem;

const fs::path kPublished = AGENTD_SCHEMA_DIR;

bool updating() { return std::getenv("AGENTD_UPDATE_GOLDEN") != nullptr; }

void expect_published(const fs::path& name, const std::string& text) {
  const fs::path file = kPublished / name;
  if (updating()) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return;
  }
  std::ifstream in(file);
  const std::string committed{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(committed, text) << file << " differs from the code: run with AGENTD_UPDATE_GOLDEN=1";
}

schema::Validator compiled(const Json& bundle) {
  auto validator = schema::compile(bundle);
  EXPECT_TRUE(validator.has_value()) << (validator.has_value() ? "" : validator.error().message);
  return *validator;
}

Json golden(std::string_view name) {
  const auto found = std::ranges::find(golden_frames(), name, &std::pair<std::string, std::string>::first);
  EXPECT_NE(found, golden_frames().end()) << name;
  return Json::parse(found->second);
}

TEST(EventsBundle, TakesEveryGoldenFrame) {
  const auto validator = compiled(events_bundle());
  for (const auto& [name, text] : golden_frames()) {
    const auto misses = validator.validate(Json::parse(text));
    EXPECT_TRUE(misses.empty()) << name << ": " << misses[0].field << " " << misses[0].description;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
}

TEST(EventsBundle, RefusesNearMisses) {
  const auto validator = compiled(events_bundle());
  const auto refuses = [&](const Json& frame) { return !validator.validate(frame).empty(); };
  Json frame = golden("event-child");
  frame["event"]["kind"] = "child.removed";
  EXPECT_TRUE(refuses(frame)) << "another kind's data";
  frame["event"]["kind"] = "children";
  EXPECT_TRUE(refuses(frame)) << "a kind outside the table";
  frame = golden("event-child");
  frame["event"]["id"] = 1;
  EXPECT_TRUE(refuses(frame)) << "one member more";
  frame = golden("event-child");
  frame["hello"] = golden("hello")["hello"];
  EXPECT_TRUE(refuses(frame)) << "two frames in one";
  frame = golden("hello");
  frame["hello"]["seq"] = -1;
  EXPECT_TRUE(refuses(frame));
  frame = golden("hello");
  frame["hello"].erase("resync");
  EXPECT_TRUE(refuses(frame));
  frame = golden("goodbye-deadline");
  frame["goodbye"]["reason"] = "shutdown";
  EXPECT_TRUE(refuses(frame));
  EXPECT_TRUE(refuses(Json::object()));
}

TEST(EventsBundle, HoldsTheParamsAndEachFrameByItself) {
  Json bundle = events_bundle();
  const auto part = [&](const char* name) {
    Json out = {{"$defs", bundle["$defs"]}, {"$ref", std::string("#/$defs/") + name}};
    return compiled(out);
  };
  EXPECT_TRUE(part("params").validate({{"fromSeq", 3}}).empty());
  EXPECT_TRUE(part("params").validate(Json::object()).empty());
  EXPECT_FALSE(part("params").validate({{"from", 3}}).empty());
  EXPECT_TRUE(part("hello").validate(golden("hello")).empty());
  EXPECT_TRUE(part("event").validate(golden("event-task")).empty());
  EXPECT_TRUE(part("goodbye").validate(golden("goodbye-revoked")).empty());
  EXPECT_FALSE(part("goodbye").validate(golden("hello")).empty());
}

TEST(EventsBundle, HasOneSelfContainedSchemaPerKind) {
  const Json kinds = events_bundle()["$defs"]["kinds"]["$defs"];
  EXPECT_EQ(kinds.size(), kKindCount);
  EXPECT_EQ(dump_json(kinds).find("$ref"), std::string::npos);
}

// Every member that a schema knows, as "kind: /path", with list items and free-form objects as one place.
void members_of(const Json& schema, const std::string& at, std::set<std::string>& out) {
  for (const char* key : {"oneOf", "allOf"}) {
    for (const Json& form : schema.value(key, Json::array())) members_of(form, at, out);
  }
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, member] : properties.items()) {
    out.insert(at + "/" + name);
    members_of(member, at + "/" + name, out);
  }
  if (schema.contains("items")) members_of(schema["items"], at + "/*", out);
}

void members_in(const Json& value, const std::string& at, std::set<std::string>& out) {
  if (value.is_object()) {
    for (const auto& [name, member] : value.items()) {
      out.insert(at + "/" + name);
      members_in(member, at + "/" + name, out);
    }
  } else if (value.is_array()) {
    for (const Json& item : value) members_in(item, at + "/*", out);
  }
}

TEST(GoldenFrames, ShowEveryMemberThatAKindMayHave) {
  std::set<std::string> shown;
  for (const auto& [name, text] : golden_frames()) {
    const Json frame = Json::parse(text);
    if (!frame.contains("event")) continue;
    members_in(frame["event"]["data"], frame["event"]["kind"].get<std::string>() + ": ", shown);
  }
  for (std::size_t i = 0; i < kKindCount; ++i) {
    const auto kind = static_cast<Kind>(i);
    std::set<std::string> known;
    members_of(kind_schema(kind), std::string(kind_name(kind)) + ": ", known);
    for (const std::string& member : known) {
      // A message has the same members in a task's status as in its history, where all are shown.
      if (member.starts_with("task: /task/status/message/") || member.starts_with("task: /task/artifacts/*/parts/")) {
        continue;
      }
      EXPECT_TRUE(shown.contains(member)) << member;
    }
  }
}

TEST(TaskAnnotationsBundle, TakesWhatTheGoldenTaskCarriesAndRefusesNearMisses) {
  const auto validator = compiled(task_annotations_bundle());
  Json annotations = golden("event-task")["event"]["data"]["task"]["metadata"][std::string(kTaskAnnotationsUri)];
  EXPECT_EQ(annotations.size(), 7U) << "all of its members are shown";
  EXPECT_TRUE(validator.validate(annotations).empty());
  EXPECT_FALSE(golden("event-task-unannotated")["event"]["data"]["task"].contains("metadata"));
  annotations["extra"] = 1;
  EXPECT_FALSE(validator.validate(annotations).empty());
  annotations.erase("extra");
  annotations["link"]["kind"] = "task";
  EXPECT_FALSE(validator.validate(annotations).empty());
}

TEST(PublishedCopies, AreWhatTheCodeMakes) {
  expect_published("events/schema.json", events_bundle().dump(2) + "\n");
  expect_published("task-annotations/schema.json", task_annotations_bundle().dump(2) + "\n");
  std::set<std::string> expected;
  for (const auto& [name, text] : golden_frames()) {
    expect_published("events/examples/" + name + ".json", text + "\n");
    expected.insert(name + ".json");
  }
  EXPECT_EQ(expected.size(), golden_frames().size()) << "two golden frames have one name";
  for (const auto& entry : fs::directory_iterator(kPublished / "events/examples")) {
    EXPECT_TRUE(expected.contains(entry.path().filename())) << entry.path() << " is no golden frame";
  }
}

}  // namespace
}  // namespace agentd::feed
