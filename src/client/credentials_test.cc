#include "client/credentials.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/temporary_folder.h"

namespace agentd::client {
namespace {

namespace fs = std::filesystem;

class CredentialsTest : public testing::Test {
 protected:
  static mode_t mode(const fs::path& path) {
    struct stat about{};
    EXPECT_EQ(::stat(path.c_str(), &about), 0) << path;
    return about.st_mode & 07777U;
  }
  std::string content() const {
    std::ifstream in(file_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(std::string_view text) const { std::ofstream(file_) << text; }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
  const fs::path file_ = root_ / "config" / "agentd" / "credentials.json";
};

TEST_F(CredentialsTest, EachDaemonHasItsOwnTokenHoweverItsUrlIsSpelt) {
  const Credentials credentials(file_);
  EXPECT_EQ(credentials.find("http://a")->token, "") << "there is no file yet";
  ASSERT_TRUE(credentials.keep("http://A:80/", "one"));
  ASSERT_TRUE(credentials.keep("https://a", "two"));
  EXPECT_EQ(credentials.find("http://a")->token, "one");
  EXPECT_EQ(credentials.find("https://a/")->token, "two");
  EXPECT_EQ(credentials.find("http://a:81")->token, "");
  ASSERT_TRUE(credentials.forget("http://a"));
  EXPECT_EQ(credentials.find("http://a")->token, "");
  EXPECT_EQ(content(), "{\"https://a\":{\"access_token\":\"two\"}}\n");
}

TEST_F(CredentialsTest, OnlyTheUserMayReadThem) {
  const mode_t before = ::umask(0);
  EXPECT_TRUE(Credentials(file_).keep("http://a", "one"));
  ::umask(before);
  EXPECT_EQ(mode(file_), 0600U);
  EXPECT_EQ(mode(file_.parent_path()), 0700U);

  fs::permissions(file_.parent_path(), fs::perms(0755));
  EXPECT_TRUE(Credentials(file_).keep("http://a", "two"));
  EXPECT_EQ(mode(file_.parent_path()), 0700U) << "a folder that was there is closed";
}

TEST_F(CredentialsTest, AFileThatOthersMayReadIsRefusedAndLeftAlone) {
  const Credentials credentials(file_);
  ASSERT_TRUE(credentials.keep("http://a", "s3cret"));
  for (const unsigned open : {0640U, 0604U, 0620U}) {
    fs::permissions(file_, fs::perms(open));
    const std::string before = content();
    const auto found = credentials.find("http://a");
    for (const Status& status : {found ? Status() : Status(std::unexpected(found.error())),
                                 credentials.keep("http://b", "two"), credentials.forget("http://a")}) {
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().code, Code::kConfig);
      EXPECT_NE(status.error().message.find("chmod 600 " + file_.string()), std::string::npos);
      EXPECT_EQ(status.error().message.find("s3cret"), std::string::npos);
    }
    EXPECT_EQ(content(), before);
  }
}

TEST_F(CredentialsTest, AFileOfSomebodyElseIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const Credentials credentials(file_);
  ASSERT_TRUE(credentials.keep("http://a", "one"));
  ASSERT_EQ(::chown(file_.c_str(), 1, 1), 0);
  EXPECT_EQ(credentials.find("http://a").error().code, Code::kConfig);
  EXPECT_EQ(credentials.keep("http://a", "two").error().code, Code::kConfig);
}

TEST_F(CredentialsTest, AFileOfSomethingElseIsNotWrittenOver) {
  const Credentials credentials(file_);
  ASSERT_TRUE(credentials.keep("http://a", "one"));
  for (const char* text : {"", "{", "[]", "s3cret"}) {
    write(text);
    const Status status = credentials.keep("http://a", "two");
    ASSERT_FALSE(status) << text;
    EXPECT_EQ(status.error().code, Code::kConfig);
    EXPECT_EQ(status.error().message.find("s3cret"), std::string::npos);
    EXPECT_EQ(content(), text);
  }
  write(R"({"http://a":7,"http://b":{"access_token":7}})");
  EXPECT_EQ(credentials.find("http://a")->token, "");
  EXPECT_EQ(credentials.find("http://b")->token, "");
}

TEST_F(CredentialsTest, ACrashLeavesTheOldFileAndNothingInTheWay) {
  const Credentials credentials(file_);
  ASSERT_TRUE(credentials.keep("http://a", "one"));
  std::ofstream(file_.string() + ".new") << "half of";  // what a crash leaves
  fs::permissions(file_.string() + ".new", fs::perms(0644));
  EXPECT_EQ(credentials.find("http://a")->token, "one");
  ASSERT_TRUE(credentials.keep("http://a", "two"));
  EXPECT_EQ(mode(file_), 0600U);
  EXPECT_FALSE(fs::exists(file_.string() + ".new"));
}

TEST_F(CredentialsTest, WritersAtTheSameTimeLoseNothing) {
  constexpr int kWriters = 4;
  constexpr int kEach = 10;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([this, writer] {
      for (int i = 0; i < kEach; ++i) {
        EXPECT_TRUE(Credentials(file_).keep("http://h" + std::to_string(writer * kEach + i), "token"));
      }
    });
  }
  for (auto& writer : writers) writer.join();
  for (int i = 0; i < kWriters * kEach; ++i) {
    EXPECT_EQ(Credentials(file_).find("http://h" + std::to_string(i))->token, "token") << i;
  }
}

TEST_F(CredentialsTest, WithoutAPlaceThereAreNone) {
  const Credentials nowhere("");
  EXPECT_EQ(nowhere.find("http://a")->token, "");
  EXPECT_EQ(nowhere.keep("http://a", "one").error().code, Code::kConfig);
}

TEST_F(CredentialsTest, TheTokenOfALaunchIsMarkedAndNeverTakesTheOneOfALogin) {
  const Credentials credentials(file_);
  ASSERT_TRUE(credentials.keep_launch("http://a", "launched"));
  EXPECT_EQ(content(), "{\"http://a\":{\"access_token\":\"launched\",\"launch\":true}}\n");
  EXPECT_TRUE(credentials.find("http://a")->launch);
  ASSERT_TRUE(credentials.keep("http://a", "signed in"));
  EXPECT_FALSE(credentials.find("http://a")->launch);
  ASSERT_TRUE(credentials.keep_launch("http://a", "launched"));
  EXPECT_EQ(credentials.find("http://a")->token, "signed in");
}

TEST(CredentialsPath, IsInTheConfigFolderOfTheUser) {
  const auto path = [](const char* xdg, const char* home) {
    ::setenv("XDG_CONFIG_HOME", xdg, 1);
    ::setenv("HOME", home, 1);
    return credentials_path();
  };
  EXPECT_EQ(path("/x", "/h"), "/x/agentd/credentials.json");
  EXPECT_EQ(path("relative", "/h"), "/h/.config/agentd/credentials.json");
  EXPECT_EQ(path("", "/h"), "/h/.config/agentd/credentials.json");
  EXPECT_EQ(path("", ""), "");
}

}  // namespace
}  // namespace agentd::client
