#include "client/launch.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <mutex>
#include <optional>
#include <vector>

#include "base/folders.h"
#include "base/temporary_folder.h"
#include "client/url.h"
#include "http/fake_server.h"
#include "http/target.h"

namespace agentd::client {
namespace {

using http::FakeExchange;
using http::FakeServer;

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

constexpr const char* kCode = R"({"code":"c0de","expires_in":60})";

// A daemon of two faces: its control socket, and its port. What each was asked is kept.
class LaunchTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* before = ::getenv("XDG_RUNTIME_DIR");
    before_ = before != nullptr ? before : "";
    ::setenv("XDG_RUNTIME_DIR", root_.c_str(), 1);
    fs::create_directory(root_ / "agentd");
  }
  void TearDown() override {
    socket_.reset();
    ::setenv("XDG_RUNTIME_DIR", before_.c_str(), 1);
  }

  [[nodiscard]] std::string url() const { return port_.url(); }
  [[nodiscard]] std::string origin() const { return *canonical_url(port_.url()); }
  [[nodiscard]] std::string socket_path() const { return control_socket(port_of(origin())); }
  void listen(int status, const std::string& body = {}) {
    socket_.emplace(socket_path(), [this, status, body](FakeExchange& exchange) {
      take(exchange, asked_);
      exchange.answer(status, body);
    });
  }
  [[nodiscard]] Credentials credentials() const { return Credentials(root_ / "credentials.json"); }
  [[nodiscard]] Endpoint endpoint() const { return *endpoint_of({.url = url()}, credentials(), stop_); }
  [[nodiscard]] std::string form(const std::string& token) const {
    return "POST /oauth2/launch " +
           http::form_of({{"client_id", "agentd-cli"}, {"origin", origin()}, {"token", token}});
  }

  Strings asked_, exchanged_;
  int status_ = 200;  // of the token endpoint
  Stop stop_;
  TemporaryFolder folder_;
  fs::path root_ = folder_.path();

 private:
  void take(FakeExchange& exchange, Strings& into) {
    const std::lock_guard lock(mutex_);
    const std::string& head = exchange.head();
    into.push_back(head.substr(0, head.find(" HTTP/1.1\r\n")) + " " + exchange.body());
  }

  std::string before_;
  std::mutex mutex_;
  FakeServer port_{[this](FakeExchange& exchange) {
    take(exchange, exchanged_);
    exchange.answer(status_, R"({"access_token":"agentd_at_launched","expires_in":28800,"scope":"operator"})");
  }};
  std::optional<FakeServer> socket_;
};

TEST_F(LaunchTest, ACodeOfTheControlSocketIsExchangedAndTheTokenKept) {
  listen(200, kCode);
  const Endpoint launched = endpoint();
  EXPECT_EQ(launched.token, "agentd_at_launched");
  EXPECT_FALSE(launched.stored) << "no login can be said to be over";
  EXPECT_EQ(asked_, Strings{form("")});
  EXPECT_EQ(exchanged_, Strings{"POST /oauth2/token "
                                "grant_type=urn%3Aagentd%3Aparams%3Aoauth%3Agrant-type%3Alaunch&launch_code=c0de&"
                                "client_id=agentd-cli"});
  EXPECT_EQ(credentials().find(url())->token, "agentd_at_launched");
  EXPECT_TRUE(credentials().find(url())->launch);
}

TEST_F(LaunchTest, AKeptTokenServesAsLongAsTheDaemonSaysSo) {
  ASSERT_TRUE(credentials().keep_launch(url(), "agentd_at_kept"));
  listen(204);
  EXPECT_EQ(endpoint().token, "agentd_at_kept");
  EXPECT_EQ(asked_, Strings{form("agentd_at_kept")});
  EXPECT_TRUE(exchanged_.empty());
}

TEST_F(LaunchTest, AKeptTokenThatIsOverIsReplaced) {
  ASSERT_TRUE(credentials().keep_launch(url(), "agentd_at_over"));
  listen(200, kCode);
  EXPECT_EQ(endpoint().token, "agentd_at_launched");
  EXPECT_EQ(credentials().find(url())->token, "agentd_at_launched");
}

TEST_F(LaunchTest, WithoutTheControlSocketAKeptTokenIsNotSentToWhoeverListensThere) {
  ASSERT_TRUE(credentials().keep_launch(url(), "agentd_at_kept"));
  EXPECT_EQ(endpoint().token, "");
  EXPECT_TRUE(exchanged_.empty());
}

TEST_F(LaunchTest, ASocketThatIsStaleOrRefusesLeavesItWithoutAToken) {
  {
    const FakeServer stale(socket_path(), [](FakeExchange&) {});
  }
  ASSERT_TRUE(fs::exists(socket_path()));
  EXPECT_EQ(endpoint().token, "");
  fs::remove(socket_path());
  listen(400, R"({"error":"invalid_request"})");
  EXPECT_EQ(endpoint().token, "");
  EXPECT_TRUE(exchanged_.empty());
}

TEST_F(LaunchTest, WhatIsNoSocketOfTheUsersOwnIsToldNoToken) {
  ASSERT_TRUE(credentials().keep_launch(url(), "agentd_at_kept"));
  listen(204);
  const fs::path moved = root_ / "elsewhere.sock";
  fs::rename(socket_path(), moved);
  fs::create_symlink(moved, socket_path());
  EXPECT_EQ(endpoint().token, "");
  EXPECT_TRUE(asked_.empty());
}

TEST_F(LaunchTest, ACodeThatTheDaemonDoesNotTakeLeavesItWithoutAToken) {
  listen(200, kCode);
  status_ = 400;
  EXPECT_EQ(endpoint().token, "");
  EXPECT_EQ(credentials().find(url())->token, "");
}

TEST_F(LaunchTest, ATokenThatIsGivenOrOfALoginGoesBeforeIt) {
  listen(200, kCode);
  const Endpoint given = *endpoint_of({.url = url(), .token = "given"}, credentials(), stop_);
  EXPECT_EQ(given.token, "given");
  EXPECT_FALSE(given.stored);
  ASSERT_TRUE(credentials().keep(url(), "kept"));
  EXPECT_EQ(endpoint().token, "kept");
  EXPECT_TRUE(endpoint().stored);
  EXPECT_TRUE(asked_.empty());

  fs::permissions(credentials().path(), fs::perms(0644));
  EXPECT_TRUE(endpoint_of({.url = url(), .token = "given"}, credentials(), stop_)) << "the file is not needed";
  EXPECT_EQ(endpoint_of({.url = url()}, credentials(), stop_).error().code, Code::kConfig);
}

TEST_F(LaunchTest, IsForADaemonOfThisMachineAndNeedsAPlaceForTheToken) {
  listen(200, kCode);
  const std::string port = port_of(origin());
  EXPECT_EQ(endpoint_of({.url = "http://192.0.2.1:" + port}, credentials(), stop_)->token, "");
  EXPECT_EQ(endpoint_of({.url = "unix:///run/agentd.sock"}, credentials(), stop_)->token, "");
  EXPECT_EQ(endpoint_of({.url = url()}, Credentials(""), stop_)->token, "");
  EXPECT_TRUE(asked_.empty());
}

TEST_F(LaunchTest, ATokenThatCannotBeKeptIsGivenBack) {
  listen(200, kCode);
  fs::create_directory(root_ / "credentials.json.new");
  const auto refused = endpoint_of({.url = url()}, credentials(), stop_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message.find("agentd_at_"), std::string::npos);
  ASSERT_EQ(exchanged_.size(), 2U);
  EXPECT_EQ(exchanged_[1], "POST /oauth2/revoke token=agentd_at_launched");
}

}  // namespace
}  // namespace agentd::client
