#include "client/feed_cursor.h"

#include <gtest/gtest.h>

namespace agentd::client {
namespace {

using Meaning = FeedCursor::Meaning;

Json hello(std::uint64_t seq, bool resync = false) {
  return {{"hello", {{"seq", seq}, {"resume", 0}, {"resync", resync}, {"introspection", false}, {"version", "1"}}}};
}
Json event(std::uint64_t seq) {
  return {{"event", {{"seq", seq}, {"ts", 1}, {"kind", "task.removed"}, {"data", {{"id", "t"}}}}}};
}
Json goodbye(std::uint64_t seq, const char* reason) { return {{"goodbye", {{"seq", seq}, {"reason", reason}}}}; }

TEST(FeedCursor, TakesEachEventOnceAcrossACut) {
  FeedCursor cursor;
  cursor.connect();
  EXPECT_EQ(cursor.take_frame(hello(7)), Meaning::kHello);
  EXPECT_EQ(cursor.take_frame(event(5)), Meaning::kEvent);
  EXPECT_EQ(cursor.take_frame(event(7)), Meaning::kEvent);
  cursor.connect();
  EXPECT_EQ(cursor.cursor(), 7U);
  EXPECT_EQ(cursor.take_frame(hello(9)), Meaning::kHello);
  EXPECT_EQ(cursor.take_frame(event(7)), Meaning::kRepeat);
  EXPECT_EQ(cursor.take_frame(event(9)), Meaning::kEvent);
  EXPECT_EQ(cursor.take_frame(event(9)), Meaning::kRepeat);
}

TEST(FeedCursor, BookmarksMoveItForwardOnly) {
  FeedCursor cursor(3);
  cursor.connect();
  cursor.take_comment("50");
  EXPECT_EQ(cursor.cursor(), 3U) << "nothing counts before the hello";
  ASSERT_TRUE(cursor.take_frame(hello(10)));
  cursor.take_comment("10");
  EXPECT_EQ(cursor.cursor(), 10U);
  for (const char* nothing : {"4", "keep-alive", "", "12 x", "-1", "99999999999999999999999"})
    cursor.take_comment(nothing);
  EXPECT_EQ(cursor.cursor(), 10U);
  EXPECT_EQ(cursor.take_frame(event(10)), Meaning::kRepeat);
}

TEST(FeedCursor, AfterAResyncTheReplayCountsFromAnyNumber) {
  FeedCursor cursor(5000);  // of an earlier life whose numbers were higher
  cursor.connect();
  EXPECT_EQ(cursor.take_frame(hello(40, true)), Meaning::kResync);
  EXPECT_EQ(cursor.take_frame(event(31)), Meaning::kEvent);
  EXPECT_EQ(cursor.cursor(), 31U);
  cursor.connect();
  EXPECT_EQ(cursor.take_frame(hello(41)), Meaning::kHello);
  EXPECT_EQ(cursor.take_frame(event(31)), Meaning::kRepeat);
}

TEST(FeedCursor, ACutBetweenResyncAndReplayResumesFromWhereTheStateWasRead) {
  FeedCursor cursor(5);
  cursor.connect();
  ASSERT_EQ(cursor.take_frame(hello(40, true)), Meaning::kResync);
  cursor.connect();
  EXPECT_EQ(cursor.cursor(), 40U) << "0 would hide what is evicted meanwhile";
  ASSERT_EQ(cursor.take_frame(hello(41)), Meaning::kHello);
  EXPECT_EQ(cursor.take_frame(event(40)), Meaning::kRepeat);
}

TEST(FeedCursor, GoodbyeGivesTheCursorAndEndsTheStream) {
  FeedCursor cursor;
  cursor.connect();
  ASSERT_TRUE(cursor.take_frame(hello(9)));
  EXPECT_EQ(cursor.take_frame(goodbye(9, "deadline")), Meaning::kDeadline);
  EXPECT_EQ(cursor.cursor(), 9U);
  EXPECT_FALSE(cursor.take_frame(event(10)));
  cursor.connect();
  ASSERT_TRUE(cursor.take_frame(hello(9)));
  EXPECT_EQ(cursor.take_frame(goodbye(4, "revoked")), Meaning::kRevoked);
  EXPECT_EQ(cursor.cursor(), 9U) << "a goodbye never takes back what was shown";
}

TEST(FeedCursor, RefusesWhatBreaksTheProtocol) {
  FeedCursor cursor;
  cursor.connect();
  EXPECT_FALSE(cursor.take_frame(event(1))) << "an event before the hello";
  ASSERT_TRUE(cursor.take_frame(hello(1)));
  EXPECT_FALSE(cursor.take_frame(hello(1))) << "a second hello";
  for (const char* bad :
       {"[]", "{}", "1", R"({"event":1})", R"({"event":{"seq":"1"}})", R"({"event":{"seq":-1}})",
        R"({"event":{"seq":1.5}})", R"({"other":{"seq":1}})",
        R"({"event":{"seq":9},"goodbye":{"seq":9,"reason":"deadline"}})", R"({"goodbye":{"seq":9}})"}) {
    EXPECT_FALSE(cursor.take_frame(Json::parse(bad))) << bad;
  }
  EXPECT_EQ(cursor.cursor(), 0U);
}

}  // namespace
}  // namespace agentd::client
