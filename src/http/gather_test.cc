#include "http/gather.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace agentd::http {
namespace {

std::string text_of(Gather& gather) {
  std::string out;
  for (const iovec& piece : gather.pieces()) out.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  EXPECT_EQ(out.size(), gather.bytes());
  return out;
}

StreamEvent event(std::string_view a, std::string_view b = "", std::string_view c = "", std::string_view d = "") {
  return {.owner = nullptr, .pieces = {a, b, c, d}};
}

class GatherTest : public testing::Test {
 protected:
  const std::unique_ptr<Gather> gather = std::make_unique<Gather>();
};

TEST_F(GatherTest, MakesEachEventOneChunk) {
  EXPECT_TRUE(gather->add("head"));
  EXPECT_TRUE(gather->add(event("data: ", "{}", "\n\n"), Chunked::kYes));
  EXPECT_TRUE(gather->add(event("data: ", "", "0123456789", "\n\n"), Chunked::kYes));
  EXPECT_EQ(text_of(*gather), "heada\r\ndata: {}\n\n\r\n12\r\ndata: 0123456789\n\n\r\n");
  EXPECT_EQ(gather->pieces().size(), 1U);
}

TEST_F(GatherTest, LeavesTheFramingAwayForHttp10) {
  EXPECT_TRUE(gather->add(event("a", "b"), Chunked::kNo));
  EXPECT_EQ(text_of(*gather), "ab");
}

TEST_F(GatherTest, NeverMakesAnEmptyChunk) {
  EXPECT_TRUE(gather->add(event(""), Chunked::kYes));
  EXPECT_EQ(gather->bytes(), 0U);
  EXPECT_EQ(wire_size(event(""), Chunked::kYes), 0U);
}

TEST_F(GatherTest, BorrowsLongPiecesAndCopiesShortOnes) {
  const std::string body(300, 'x');
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(gather->add(event("data: ", body, "\n\n"), Chunked::kYes));
  EXPECT_EQ(gather->pieces().size(), 21U);
  EXPECT_EQ(gather->pieces()[1].iov_base, body.data());
}

TEST_F(GatherTest, SkipsWhatWasSentAtEveryOffset) {
  const std::string body(200, 'x');
  const StreamEvent one = event("data: ", body, "\n", "\n");
  for (const Chunked chunked : {Chunked::kNo, Chunked::kYes}) {
    gather->clear();
    ASSERT_TRUE(gather->add(one, chunked));
    const std::string whole = text_of(*gather);
    EXPECT_EQ(whole.size(), wire_size(one, chunked));
    for (std::size_t skip = 0; skip <= whole.size(); ++skip) {
      gather->clear();
      ASSERT_TRUE(gather->add(one, chunked, skip));
      EXPECT_EQ(text_of(*gather), whole.substr(skip));
    }
  }
}

TEST_F(GatherTest, IsFullByBytesByPiecesAndByScratchAndAddsNothingThen) {
  for (const std::size_t size : {1U, 100U, 129U, 1000U, 100'000U}) {
    const std::string body(size, 'x');
    gather->clear();
    std::string expected;
    while (gather->add(event(body, body, body, body), Chunked::kYes)) {
      expected += fmt::format("{:x}\r\n{}{}{}{}\r\n", size * 4, body, body, body, body);
    }
    EXPECT_EQ(text_of(*gather), expected);
    EXPECT_LE(gather->pieces().size(), 256U);
    EXPECT_LT(gather->bytes(), Gather::kBytes + size * 4 + 20);
    EXPECT_GT(gather->bytes(), 10'000U);
  }
}

TEST_F(GatherTest, KeepsEachMessageApart) {
  gather->clear();
  std::vector<std::span<iovec>> messages;
  std::string expected;
  for (int i = 0; gather->begin(); ++i) {
    const std::string text = fmt::format("message {};", i);
    ASSERT_TRUE(gather->add(text));
    EXPECT_EQ(gather->bytes(), text.size());
    messages.push_back(gather->pieces());
    expected += text;
  }
  EXPECT_GT(messages.size(), 256U);
  std::string all;
  for (const auto pieces : messages) {
    ASSERT_EQ(pieces.size(), 1U);
    all.append(static_cast<const char*>(pieces[0].iov_base), pieces[0].iov_len);
  }
  EXPECT_EQ(all, expected);
}

TEST_F(GatherTest, HasRoomForAWholeMessageAfterEachBegin) {
  const std::string body(Gather::kBytes, 'x');
  const std::string short_one(100, 'y');
  for (std::size_t messages = 0; gather->begin(); ++messages) {
    ASSERT_LT(messages, 1000U);
    std::size_t added = 0;
    while (gather->add(event(short_one, short_one), Chunked::kYes)) ++added;
    EXPECT_GT(added, 70U);
  }
  gather->clear();
  ASSERT_TRUE(gather->begin());
  EXPECT_TRUE(gather->add(event(body), Chunked::kYes));
  EXPECT_FALSE(gather->add(event(body), Chunked::kYes));
  ASSERT_TRUE(gather->begin());
  EXPECT_TRUE(gather->add(event(body), Chunked::kYes));
}

}  // namespace
}  // namespace agentd::http
