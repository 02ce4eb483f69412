#include "feed/payload_json.h"

#include <gtest/gtest.h>

#include "base/json_writer.h"
#include "feed/bundle.h"
#include "feed/kind_table.h"
#include "feed/task_limits.h"

namespace agentd::feed {
namespace {

const std::string kUri(kTaskAnnotationsUri);

Json message(int number, std::size_t bytes = 10) {
  return {{"messageId", "m" + std::to_string(number)},
          {"role", "ROLE_USER"},
          {"parts", Json::array({{{"text", std::string(bytes, 'x')}}})}};
}

Json artifact(const std::string& id, std::size_t bytes) {
  return {{"artifactId", id},
          {"name", "n"},
          {"description", "d"},
          {"parts", Json::array({{{"text", std::string(bytes, 'x')}}})},
          {"metadata", {{"k", 1}}}};
}

Json base_task() { return {{"id", "t"}, {"status", {{"state", "TASK_STATE_WORKING"}}}}; }

template <Payload P>
std::string text_of(const P& payload) {
  std::string out;
  static_cast<void>(append_data(out, payload));
  return out;
}

template <Payload P>
Json data_of(const P& payload) {
  return Json::parse(text_of(payload));
}

std::string without_cut(const Task& payload) {
  std::string out;
  const Cut cut = append_data(out, payload);
  return out.erase(cut.begin, cut.end - cut.begin);
}

TEST(TaskJson, WithoutTheCutIsByteForByteTheTaskWithoutAnnotations) {
  for (const Json& metadata : {Json(), Json::object(), Json{{"other", "{\"}"}}}) {
    Task annotated{.task = base_task(), .annotations = {{"created", "2026-01-01T00:00:00.000Z"}}};
    if (!metadata.is_null()) annotated.task["metadata"] = metadata;
    annotated.task["history"] = Json::array({message(1)});
    Task plain = annotated;
    plain.annotations = nullptr;
    EXPECT_EQ(without_cut(annotated), text_of(plain)) << metadata;
    EXPECT_EQ(Json::parse(text_of(annotated))["task"]["metadata"][kUri], annotated.annotations);
  }
}

TEST(TaskJson, LeavesNoEmptyMetadataBehind) {
  const Task payload{.task = base_task(), .annotations = {{"created", "x"}}};
  EXPECT_EQ(without_cut(payload), R"({"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}}})");
  EXPECT_EQ(text_of(Task{.task = base_task(), .annotations = {}}), without_cut(payload));
}

TEST(TaskJson, PutsTheAnnotationsLastAndNeverTwice) {
  Task payload{.task = {{"metadata", {{kUri, "a guest's"}, {"z", 1}}}, {"id", "t"}}, .annotations = {{"a", 1}}};
  EXPECT_EQ(text_of(payload), R"({"task":{"id":"t","metadata":{"z":1,")" + kUri + R"(":{"a":1}}}})");
  EXPECT_EQ(without_cut(payload), R"({"task":{"id":"t","metadata":{"z":1}}})");
}

TEST(TaskJson, KeepsTheNewestFourMessages) {
  Task payload{.task = base_task(), .annotations = {}};
  for (int i = 1; i <= 6; ++i) payload.task["history"].push_back(message(i));
  const Json history = data_of(payload)["task"]["history"];
  ASSERT_EQ(history.size(), 4U);
  EXPECT_EQ(history[0]["messageId"], "m3");
  EXPECT_EQ(history[3], message(6));
}

TEST(TaskJson, KeepsMessagesWithin32KiB) {
  Task payload{.task = base_task(), .annotations = {}};
  payload.task["history"] = Json::array({message(1), message(2, 20'000), message(3, 20'000)});
  EXPECT_EQ(data_of(payload)["task"]["history"], Json::array({message(3, 20'000)}));
  const std::size_t around = dump_json(message(1, 0)).size();
  payload.task["history"] = Json::array({message(1, kHistoryBytes - around)});
  EXPECT_EQ(data_of(payload)["task"]["history"].size(), 1U);
  payload.task["history"] = Json::array({message(1, kHistoryBytes - around + 1)});
  EXPECT_FALSE(data_of(payload)["task"].contains("history"));
}

TEST(TaskJson, SendsArtifactsPast256KiBByReference) {
  Task payload{.task = base_task(), .annotations = {}};
  const std::size_t around = dump_json(Json::array({artifact("a", 0)})).size();
  payload.task["artifacts"] = Json::array({artifact("a", kArtifactBytes - around)});
  EXPECT_EQ(data_of(payload)["task"]["artifacts"], payload.task["artifacts"]);
  payload.task["artifacts"] = Json::array({artifact("a", kArtifactBytes - around + 1)});
  EXPECT_EQ(dump_json(data_of(payload)["task"]["artifacts"]),
            R"([{"artifactId":"a","name":"n","description":"d","parts":[],"metadata":{"k":1}}])");
  // Many small ones count together: what is bounded is the event.
  payload.task["artifacts"] = Json::array({artifact("a", 150'000), artifact("b", 150'000)});
  EXPECT_EQ(data_of(payload)["task"]["artifacts"][1]["parts"], Json::array());
}

TEST(StepJson, CutsTheErrorAtACharacter) {
  StepDone payload{.run = "r", .step = "s", .status = "failed", .err = {}};
  EXPECT_EQ(data_of(payload)["err"], nullptr);
  payload.err = std::string(2048, 'x');
  EXPECT_EQ(data_of(payload)["err"], *payload.err);
  std::string accents;
  for (int i = 0; i < 2048; ++i) accents += "\xC3\xA9";
  payload.err = accents + "\xC3\xA9tail";
  EXPECT_EQ(data_of(payload)["err"], accents);
  payload.err = "bad \xC3 byte";
  EXPECT_EQ(data_of(payload)["err"], "bad \xEF\xBF\xBD byte");
}

TEST(PayloadJson, LeavesOutOrNullsWhatIsAbsent) {
  EXPECT_EQ(
      dump_json(data_of(Auth{
          .event = "revoked", .client_id = "c", .scope = "user", .user_code = {}, .peer = {}, .sid = "s", .name = {}})),
      R"({"event":"revoked","client_id":"c","scope":"user","sid":"s"})");
  EXPECT_EQ(dump_json(data_of(Resumed{})), R"({"paused":false})");
  EXPECT_EQ(dump_json(data_of(Subagent{.handle = "h", .mode = "sync", .status = "running", .error = {}})),
            R"({"handle":"h","mode":"sync","status":"running","tokens":0,"error":null,"updated":0})");
}

TEST(PayloadJson, IsOneLineAndValidWhateverTheText) {
  std::string out;
  append_data(out, Draining{"a\r\nb\"\\\xff\xE2\x80\xA8\xF0\x9F\x98\x80\x01"});
  EXPECT_EQ(out.find('\n'), std::string::npos);
  EXPECT_EQ(out.find('\r'), std::string::npos);
  EXPECT_EQ(Json::parse(out)["reason"], "a\r\nb\"\\\xEF\xBF\xBD\xE2\x80\xA8\xF0\x9F\x98\x80\x01");
}

TEST(AppendQuoted, WritesWhatTheJsonLibraryWrites) {
  for (int byte = 0; byte < 0x80; ++byte) {
    const std::string text = std::string("a") + static_cast<char>(byte);
    std::string out;
    append_quoted(out, text);
    EXPECT_EQ(out, quote_json(text)) << byte;
  }
}

}  // namespace
}  // namespace agentd::feed
