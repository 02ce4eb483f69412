// What holds for both dialects: however a stream is cut into pieces it says the same, and cut short it says nothing.
#include "llm/answer_reader.h"

#include <gtest/gtest.h>

#include "llm/stream_fixture.h"

namespace agentd::llm {
namespace {

using config::Provider;

struct Dialect {
  Provider provider;
  std::string stream;
};

class AnswerReaderTest : public testing::TestWithParam<Dialect> {};

INSTANTIATE_TEST_SUITE_P(Dialects, AnswerReaderTest,
                         testing::Values(Dialect{.provider = Provider::kOpenAi, .stream = openai_stream()},
                                         Dialect{.provider = Provider::kAnthropic, .stream = anthropic_stream()}),
                         [](const auto& dialect) {
                           return dialect.param.provider == Provider::kOpenAi ? "OpenAi" : "Anthropic";
                         });

TEST_P(AnswerReaderTest, SaysTheSameHoweverItIsCutIntoPieces) {
  for (std::size_t step = 0; step < 200; ++step) {
    const auto decoded = decode(GetParam().provider, GetParam().stream, step);
    ASSERT_TRUE(decoded.answer) << step << ": " << decoded.answer.error().message;
    ASSERT_EQ(*decoded.answer, recorded_completion()) << step;
    ASSERT_EQ(decoded.text, recorded_completion().text) << step;
    ASSERT_TRUE(decoded.over) << step;
  }
}

TEST_P(AnswerReaderTest, IsOverAfterItsLastEventAndNotBefore) {
  const std::string& stream = GetParam().stream;
  AnswerReader reader(GetParam().provider, "text/event-stream", 400);
  std::string text;
  for (std::size_t at = 0; at < stream.size(); ++at) {
    ASSERT_FALSE(reader.over()) << at;
    ASSERT_TRUE(reader.read(std::string_view(stream).substr(at, 1), text)) << at;
    ASSERT_TRUE(recorded_completion().text.starts_with(text)) << at;
  }
  EXPECT_TRUE(reader.over());
}

TEST_P(AnswerReaderTest, HasNoAnswerUntilTheStreamSaysWhyItEnds) {
  const std::string& stream = GetParam().stream;
  const auto reason =
      GetParam().provider == Provider::kOpenAi ? stream.find(R"("tool_calls"}],)") : stream.find("message_stop");
  const auto whole = stream.find("\n\n", reason) + 2;
  for (std::size_t size = 0; size < stream.size(); ++size) {
    const auto decoded = decode(GetParam().provider, std::string_view(stream).substr(0, size));
    ASSERT_EQ(decoded.answer.has_value(), size >= whole) << size;
    if (decoded.answer) {
      ASSERT_EQ(decoded.answer->calls, recorded_completion().calls) << size;
    } else {
      ASSERT_EQ(decoded.answer.error().code, Code::kUnavailable) << size;
    }
  }
}

TEST_P(AnswerReaderTest, ReadsOverCommentsAndWhatComesAfterTheEnd) {
  const auto decoded = decode(GetParam().provider, ": ping\n\n" + GetParam().stream + "data: what?\n\n");
  ASSERT_TRUE(decoded.answer) << decoded.answer.error().message;
  EXPECT_EQ(*decoded.answer, recorded_completion());
}

TEST_P(AnswerReaderTest, RefusesWhatIsNoJsonObject) {
  for (const auto* data : {"{\"choices\":", "[]", "what?", "7", R"({"a":"\ud800"})"}) {
    const auto decoded = decode(GetParam().provider, events({data}));
    ASSERT_FALSE(decoded.answer) << data;
    EXPECT_EQ(decoded.answer.error().code, Code::kUnavailable) << data;
    EXPECT_TRUE(decoded.answer.error().message.starts_with("the answer is malformed: ")) << data;
  }
}

TEST_P(AnswerReaderTest, SaysWhenThereIsAnotherServerBehindTheUrl) {
  const auto decoded = decode(GetParam().provider, "<html>", 0, "text/html; charset=utf-8");
  ASSERT_FALSE(decoded.answer);
  EXPECT_EQ(decoded.answer.error().code, Code::kConfig);
  EXPECT_EQ(decoded.answer.error().message,
            "it answers with 'text/html', not with an event stream; see `endpoint` of agent.model");
}

TEST_P(AnswerReaderTest, TakesAStreamOfUnknownType) {
  const auto decoded = decode(GetParam().provider, GetParam().stream, 0, "");
  ASSERT_TRUE(decoded.answer);
  EXPECT_EQ(*decoded.answer, recorded_completion());
}

TEST_P(AnswerReaderTest, IsBounded) {
  const std::string much(1U << 20U, 'x');
  AnswerReader document(GetParam().provider, "application/json", 0);
  AnswerReader one_event(GetParam().provider, "text/event-stream", 0);
  for (auto* reader : {&document, &one_event}) {
    std::string text;
    Status read;
    int taken = 0;
    for (; read && taken < 4; ++taken) read = reader->read(taken == 0 ? "data: " + much : much, text);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::kUnavailable);
    EXPECT_EQ(taken, 2);
  }
}

}  // namespace
}  // namespace agentd::llm
