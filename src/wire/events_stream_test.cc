#include "wire/events_stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"

namespace agentd::wire {
namespace {

using State = http::StreamSource::State;

const feed::Viewer kAlice{.is_operator = false, .principal = "user:alice"};

class EventsStreamTest : public testing::Test {
 protected:
  std::unique_ptr<EventsStream> open(feed::Interest interest = {.viewer = kAlice}) {
    auto place = streams_.take(interest.viewer.principal, {.all = 10, .per_key = 10});
    auto stream = std::make_unique<EventsStream>(deadlines_, feed_, readers_, std::move(interest), 0, bare_framing(),
                                                 EventsOptions(), std::move(*place));
    stream->on_ready([this] { ++wakings_; });
    return stream;
  }
  // What the stream would send now; it is taken as sent.
  static std::vector<Json> take(EventsStream& stream) {
    std::vector<http::StreamEvent> events;
    stream.peek(events, 1U << 20U);
    std::vector<Json> out;
    for (const http::StreamEvent& event : events) {
      out.push_back(Json::parse(std::string(event.pieces[1]) + std::string(event.pieces[2])));
    }
    stream.consume(events.size());
    return out;
  }
  // Past its hello, with nothing left to send.
  std::unique_ptr<EventsStream> resting(feed::Interest interest = {.viewer = kAlice}) {
    auto stream = open(std::move(interest));
    EXPECT_TRUE(take(*stream).at(0).contains("hello"));
    EXPECT_TRUE(take(*stream).empty());
    wakings_ = 0;
    return stream;
  }
  void push_for(const char* who) {
    feed_.push(feed::Visibility::owner(who), feed::TaskRemoved{.id = "t"});
    readers_.moved();
  }

  ManualClock clock_{1'770'000'000'000};
  net::Loop loop_;
  http::Deadlines deadlines_{loop_, clock_};
  feed::Feed feed_{{.ring_events = 4, .version = "1"}, 100, [](std::uint64_t) { return Status(); }, clock_};
  feed::Readers readers_{feed_};
  Quota streams_;
  int wakings_ = 0;
};

TEST_F(EventsStreamTest, IsNotWokenForOthersAndDoesNotLagBehindThem) {
  const auto stream = resting();
  for (int i = 0; i < 10; ++i) push_for("user:bob");
  EXPECT_EQ(wakings_, 0);
  EXPECT_EQ(stream->keep_alive(), ": 109\n\n");
  push_for("user:alice");
  EXPECT_EQ(wakings_, 1);
  const auto sent = take(*stream);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0]["event"]["seq"], 110);
  EXPECT_EQ(stream->state(), State::kOpen);
}

TEST_F(EventsStreamTest, KeepsItsPlaceWhileItHasSomethingToSend) {
  const auto stream = resting();
  feed_.push(feed::Visibility::owner("user:alice"), feed::TaskRemoved{.id = "t"});
  std::vector<http::StreamEvent> untaken;
  stream->peek(untaken, 1U << 20U);  // before the readers have looked
  ASSERT_EQ(untaken.size(), 1U);
  push_for("user:bob");
  push_for("user:bob");
  EXPECT_EQ(take(*stream).size(), 1U);
  for (int i = 0; i < 3; ++i) push_for("user:alice");
  EXPECT_EQ(take(*stream).size(), 3U);
}

TEST_F(EventsStreamTest, IsCutWhenTheRingHasMovedPastIt) {
  const auto stream = resting();
  for (int i = 0; i < 5; ++i) push_for("user:alice");
  EXPECT_TRUE(take(*stream).empty());
  EXPECT_EQ(stream->state(), State::kCut);
}

TEST_F(EventsStreamTest, SaysGoodbyeAndNothingElseOnceRevoked) {
  const auto revoked = std::make_shared<std::atomic<bool>>(false);
  const auto stream = resting({.viewer = kAlice, .revoked = revoked});
  const auto sibling = resting();
  push_for("user:alice");  // not yet handed to the kernel
  *revoked = true;
  push_for("user:alice");
  EXPECT_EQ(stream->state(), State::kRevoked);
  const auto sent = take(*stream);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0], (Json{{"goodbye", {{"seq", 99}, {"reason", "revoked"}}}}));
  EXPECT_EQ(stream->state(), State::kFinished);
  EXPECT_TRUE(take(*stream).empty());
  EXPECT_EQ(take(*sibling).size(), 2U);
}

TEST_F(EventsStreamTest, IsCutWhenItIsRevokedBeforeItsHello) {
  const auto stream = open({.viewer = kAlice, .revoked = std::make_shared<std::atomic<bool>>(true)});
  EXPECT_TRUE(take(*stream).empty());
  EXPECT_EQ(stream->state(), State::kCut);
}

TEST_F(EventsStreamTest, GivesItsPlaceBackAndIsNotWokenOnceItIsClosed) {
  const auto stream = resting();
  EXPECT_EQ(streams_.taken(), 1U);
  stream->closed();
  EXPECT_EQ(streams_.taken(), 0U);
  push_for("user:alice");
  EXPECT_EQ(wakings_, 0);
}

}  // namespace
}  // namespace agentd::wire
