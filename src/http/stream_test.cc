#include "http/stream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>

namespace agentd::http {
namespace {

// Events that know whether somebody still holds them.
class Queue final : public StreamSource {
 public:
  void push(std::string text) { events.push_back(std::make_shared<const std::string>(std::move(text))); }

  bool peek(std::vector<StreamEvent>& out, std::size_t max_bytes) override {
    std::size_t bytes = 0;
    for (const auto& text : events) {
      if (bytes > 0 && bytes + text->size() > max_bytes) return true;
      bytes += text->size();
      out.push_back({.owner = text, .pieces = {*text}});
    }
    return false;
  }
  void consume(std::size_t count) override { events.erase(events.begin(), events.begin() + static_cast<long>(count)); }
  State state() const override { return State::kOpen; }
  std::string keep_alive() override { return ""; }
  void closed() override { ++closes; }

  std::deque<std::shared_ptr<const std::string>> events;
  int closes = 0;
};

class StreamTest : public testing::Test {
 protected:
  std::string gather_all() {
    gather->clear();
    peeked.clear();
    stream.gather(*gather, peeked);
    std::string out;
    for (const iovec& piece : gather->pieces()) out.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    return out;
  }

  const std::unique_ptr<Gather> gather = std::make_unique<Gather>();
  std::vector<StreamEvent> peeked;
  std::shared_ptr<Queue> queue = std::make_shared<Queue>();
  Stream stream{queue, {}, Chunked::kYes};
};

TEST_F(StreamTest, ConsumesWholeEventsAndTheOneThatItHolds) {
  for (const char* text : {"one", "two", "three"}) queue->push(text);
  EXPECT_EQ(gather_all(), "3\r\none\r\n3\r\ntwo\r\n5\r\nthree\r\n");
  EXPECT_EQ(stream.taken(8 + 4, peeked), 2U);
  EXPECT_EQ(queue->events.size(), 1U);
  EXPECT_EQ(gather_all(), "wo\r\n5\r\nthree\r\n");
}

TEST_F(StreamTest, SaysWhetherThereIsMoreThanOneWriteTakes) {
  queue->push("one");
  EXPECT_FALSE(stream.gather(*gather, peeked));
  queue->push(std::string(Gather::kBytes, 'x'));
  gather->clear();
  peeked.clear();
  EXPECT_TRUE(stream.gather(*gather, peeked));
}

TEST_F(StreamTest, ConsumesNothingWhenNothingWasTaken) {
  queue->push("one");
  gather_all();
  EXPECT_EQ(stream.taken(0, peeked), 0U);
  EXPECT_EQ(queue->events.size(), 1U);
}

TEST_F(StreamTest, HoldsTheEventInProgressAndNoOther) {
  queue->push("one");
  queue->push("two");
  const std::weak_ptr<const std::string> one = queue->events[0];
  const std::weak_ptr<const std::string> two = queue->events[1];
  gather_all();
  stream.taken(1, peeked);
  peeked.clear();
  queue->events.clear();
  EXPECT_FALSE(one.expired());
  EXPECT_TRUE(two.expired());
  EXPECT_EQ(gather_all(), "\r\none\r\n");
  stream.taken(7, peeked);
  peeked.clear();
  EXPECT_TRUE(one.expired());
}

TEST_F(StreamTest, IsExactWhateverTheKernelTakes) {
  std::string expected;
  for (int i = 0; i < 40; ++i) {
    std::string text(static_cast<std::size_t>(i * 7 % 300), static_cast<char>('a' + i % 26));
    if (!text.empty()) expected += fmt::format("{:x}\r\n{}\r\n", text.size(), text);
    queue->push(std::move(text));
  }
  std::string sent;
  for (std::size_t step = 1; sent.size() < expected.size(); step = step % 97 + 1) {
    const std::string offered = gather_all();
    ASSERT_FALSE(offered.empty());
    const auto taken = std::min(step, offered.size());
    sent += offered.substr(0, taken);
    stream.taken(taken, peeked);
  }
  EXPECT_EQ(sent, expected);
  EXPECT_EQ(gather_all(), "");
}

TEST_F(StreamTest, ConsumesEmptyEventsThatAreNoBytes) {
  queue->push("");
  EXPECT_EQ(gather_all(), "");
  EXPECT_EQ(stream.taken(0, peeked), 1U);
}

TEST(Stream, TellsItsSourceOnceThatItIsClosed) {
  const auto queue = std::make_shared<Queue>();
  {
    const Stream stream(queue, {}, Chunked::kYes);
  }
  EXPECT_EQ(queue->closes, 1);
}

}  // namespace
}  // namespace agentd::http
