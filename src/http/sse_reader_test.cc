#include "http/sse_reader.h"

#include <gtest/gtest.h>

namespace agentd::http {
namespace {

using namespace std::string_view_literals;
using Type = SseItem::Type;

std::vector<SseItem> read_all(std::string_view bytes, std::size_t piece_size) {
  SseReader reader;
  std::vector<SseItem> items;
  while (!bytes.empty()) {
    EXPECT_TRUE(reader.read(bytes.substr(0, piece_size), items));
    bytes.remove_prefix(std::min(piece_size, bytes.size()));
  }
  return items;
}

TEST(Sse, ReadsTheSameHoweverTheBytesAreCut) {
  const std::string_view bytes = "\xEF\xBB\xBF: 12\r\ndata: a\r\ndata:b\r\n\r\nevent: x\rid: 7\rdata: c\r\rdata\n\n";
  for (const std::size_t size : {1UL, 2UL, 3UL, 5UL, bytes.size()}) {
    const auto items = read_all(bytes, size);
    ASSERT_EQ(items.size(), 4U) << "pieces of " << size;
    EXPECT_EQ(items[0].type, Type::kComment);
    EXPECT_EQ(items[0].data, "12");
    EXPECT_EQ(items[1].data, "a\nb");
    EXPECT_EQ(items[1].event, "message");
    EXPECT_EQ(items[2].event, "x");
    EXPECT_EQ(items[2].id, "7");
    EXPECT_EQ(items[3].data, "");
    EXPECT_EQ(items[3].id, "7") << "an id holds until the next one";
    EXPECT_EQ(items[3].event, "message") << "an event's name does not";
  }
}

TEST(Sse, AnEventWithoutDataIsNoEvent) { EXPECT_TRUE(read_all("event: x\nid: 3\n\n\n", 99).empty()); }

TEST(Sse, AnUnfinishedEventIsNotDelivered) { EXPECT_TRUE(read_all("data: half\n", 99).empty()); }

TEST(Sse, OnlyOneSpaceAfterTheColonIsDropped) {
  const auto items = read_all("data:  two\n\n: \n:\n", 99);
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0].data, " two");
  EXPECT_EQ(items[1].data, "");
}

TEST(Sse, AnIdWithANulAndUnknownFieldsAreReadOver) {
  const auto items = read_all("id: 1\nid: a\0b\nretry: 5\nwhat: ever\ndata: d\n\n"sv, 99);
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].id, "1");
}

TEST(Sse, RefusesAnEventPastTheBoundInOneLineOrInMany) {
  std::vector<SseItem> items;
  EXPECT_FALSE(SseReader(16).read("data: 0123456789abcdef", items));
  SseReader many(16);
  EXPECT_TRUE(many.read("data: 01234\n", items));
  EXPECT_TRUE(many.read("data: 01234\n", items));
  EXPECT_EQ(many.read("data: 01234\n", items).error().code, Code::kParse);
  SseReader fresh(16);
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(fresh.read("data: 01234\n\n", items)) << "the bound is per event";
}

}  // namespace
}  // namespace agentd::http
