#include "http/sender.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace agentd::http {
namespace {

struct Pair {
  Pair() {
    int both[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), 0);
    ours = Descriptor(both[0]);
    theirs = Descriptor(both[1]);
  }
  std::string received() {
    std::string all(1 << 16, '\0');
    const auto count = ::recv(theirs.get(), all.data(), all.size(), MSG_DONTWAIT);
    all.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return all;
  }
  Descriptor ours, theirs;
};

// What one test sends: texts in two pieces each.
class Messages {
 public:
  void add(int fd, std::string text) {
    auto& own = texts_.emplace_back(std::make_unique<Text>(std::move(text)));
    const std::size_t half = own->text.size() / 2;
    own->pieces[0] = {.iov_base = own->text.data(), .iov_len = half};
    own->pieces[1] = {.iov_base = own->text.data() + half, .iov_len = own->text.size() - half};
    sends.push_back({.fd = fd, .pieces = own->pieces});
  }
  std::vector<Send> sends;

 private:
  struct Text {
    explicit Text(std::string of) : text(std::move(of)) {}
    std::string text;
    iovec pieces[2] = {};
  };
  std::vector<std::unique_ptr<Text>> texts_;
};

// Where io_uring is forbidden, the second of the two is the first once more.
class SenderTest : public testing::TestWithParam<bool> {
 protected:
  SenderTest() {
    if (GetParam()) sender.use_io_uring();
  }
  Sender sender;
};

TEST_P(SenderTest, SendsEachItsOwn) {
  std::vector<Pair> pairs(300);  // more than one call of io_uring takes
  for (int round = 0; round < 3; ++round) {
    Messages messages;
    for (std::size_t i = 0; i < pairs.size(); ++i) messages.add(pairs[i].ours.get(), "to " + std::to_string(i));
    sender.send(messages.sends);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const std::string expected = "to " + std::to_string(i);
      EXPECT_EQ(messages.sends[i].taken, static_cast<std::int64_t>(expected.size()));
      EXPECT_EQ(pairs[i].received(), expected);
    }
  }
}

TEST_P(SenderTest, SaysWhatASlowReaderTookAndWaitsForNobody) {
  Pair slow, quick;
  const std::string much(8U << 20U, 'x');
  Messages first;
  first.add(slow.ours.get(), much);
  first.add(quick.ours.get(), "one");
  sender.send(first.sends);
  EXPECT_GT(first.sends[0].taken, 0);
  EXPECT_LT(first.sends[0].taken, static_cast<std::int64_t>(much.size()));
  EXPECT_EQ(first.sends[1].taken, 3);

  Messages second;
  second.add(slow.ours.get(), much);
  second.add(quick.ours.get(), "two");
  sender.send(second.sends);
  EXPECT_EQ(second.sends[0].taken, 0);
  EXPECT_EQ(second.sends[1].taken, 3);
  EXPECT_EQ(quick.received(), "onetwo");
}

TEST_P(SenderTest, SaysWhichAreBrokenAndSendsToTheOthers) {
  Pair gone, whole;
  gone.theirs.reset();
  Messages messages;
  messages.add(gone.ours.get(), "lost");
  messages.add(-1, "lost");
  messages.add(whole.ours.get(), "sent");
  sender.send(messages.sends);
  EXPECT_EQ(messages.sends[0].taken, -EPIPE);
  EXPECT_EQ(messages.sends[1].taken, -EBADF);
  EXPECT_EQ(messages.sends[2].taken, 4);
  EXPECT_EQ(whole.received(), "sent");
}

INSTANTIATE_TEST_SUITE_P(Both, SenderTest, testing::Bool(),
                         [](const auto& io_uring) { return io_uring.param ? "IoUring" : "Calls"; });

}  // namespace
}  // namespace agentd::http
