#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "base/temporary_folder.h"
#include "cli/captured_console.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "http/fake_server.h"

namespace agentd::cli {
namespace {

namespace fs = std::filesystem;
using http::FakeExchange;
using http::FakeServer;

constexpr const char* kToken = "agentd_at_5ec3e7";
constexpr const char* kDeviceCode = "d3v1ce";

bool is_for(const FakeExchange& exchange, std::string_view path) {
  return exchange.head().starts_with("POST " + std::string(path) + " ");
}

class LoginTest : public testing::Test {
 protected:
  // A daemon whose answers to /oauth2/token are given.
  void answer_polls(FakeExchange& exchange, int status, std::string_view body) {
    if (is_for(exchange, "/oauth2/device_authorization")) {
      EXPECT_EQ(exchange.body(), "client_id=laptop&scope=operator");
      exchange.answer(200, dump_json({{"device_code", kDeviceCode},
                                      {"user_code", "BCDF-GHJK"},
                                      {"verification_uri", "http://d.example/oauth2/device"},
                                      {"expires_in", 600},
                                      {"interval", 5}}));
    } else if (is_for(exchange, "/oauth2/token")) {
      exchange.answer(status, body);
    } else {
      EXPECT_TRUE(is_for(exchange, "/oauth2/revoke"));
      EXPECT_EQ(exchange.body(), std::string("token=") + kToken);
      ++revoked_;
      exchange.answer(200, "", "");
    }
  }
  static std::string granted() {
    return dump_json({{"access_token", kToken}, {"token_type", "Bearer"}, {"expires_in", 28'800}, {"scope", "user"}});
  }

  int login(const std::string& url, CapturedConsole& captured, const std::function<void()>& on_pause = [] {}) {
    ManualClock clock;
    return run_login({.daemon = {.url = url}, .scope = "operator", .client_id = "laptop"}, captured.console(), clock,
                     {.random = [] { return 0.0; },
                      .pause =
                          [&](std::int64_t ms) {
                            clock.advance_ms(ms);
                            on_pause();
                          }});
  }

  [[nodiscard]] std::string kept(const std::string& url) const { return client::Credentials(file_).find(url)->token; }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
  const fs::path file_ = root_ / "agentd" / "credentials.json";
  std::atomic<int> revoked_ = 0;
};

TEST_F(LoginTest, ShowsTheCodeAndKeepsTheToken) {
  FakeServer server([&](FakeExchange& exchange) { answer_polls(exchange, 200, granted()); });
  CapturedConsole captured(file_);
  EXPECT_EQ(login(server.url(), captured), kOk);
  EXPECT_EQ(kept(server.url()), kToken);
  const std::string err = captured.err();
  for (const char* said : {"\n    BCDF-GHJK\n", "http://d.example/oauth2/device",
                           "agentd devices approve BCDF-GHJK --as NAME", "with scope user for 8h"}) {
    EXPECT_NE(err.find(said), std::string::npos) << said << err;
  }
  EXPECT_EQ(captured.out(), "");
  for (const char* secret : {kToken, kDeviceCode}) EXPECT_EQ(err.find(secret), std::string::npos);
}

TEST_F(LoginTest, EachEndHasItsExitCode) {
  const auto end = [&](const char* body, const char* expected) {
    FakeServer server([&](FakeExchange& exchange) { answer_polls(exchange, 400, body); });
    CapturedConsole captured(file_);
    const int code = login(server.url(), captured);
    EXPECT_NE(captured.err().find(expected), std::string::npos) << captured.err();
    EXPECT_EQ(kept(server.url()), "");
    return code;
  };
  EXPECT_EQ(end(R"({"error":"access_denied"})", "the sign-in was denied"), kRefused);
  EXPECT_EQ(end(R"({"error":"expired_token"})", "nobody approved the code in time"), kFailure);
  EXPECT_EQ(end(R"({"error":"authorization_pending"})", "nobody approved the code in time"), kFailure);

  CapturedConsole nobody(file_);
  EXPECT_EQ(login("http://127.0.0.1:1", nobody), kUnreachable);
  FakeServer off([](FakeExchange& exchange) { exchange.answer(404, ""); });
  CapturedConsole refused(file_);
  EXPECT_EQ(login(off.url(), refused), kFailure);
  CapturedConsole local(file_);
  EXPECT_EQ(login("unix:///run/agentd.sock", local), kUsage);
}

TEST_F(LoginTest, CtrlCEndsItWithoutAWord) {
  FakeServer server(
      [&](FakeExchange& exchange) { answer_polls(exchange, 400, R"({"error":"authorization_pending"})"); });
  CapturedConsole captured(file_);
  EXPECT_EQ(login(server.url(), captured, [&] { captured.stop().request(); }), kInterrupted);
  EXPECT_TRUE(captured.err().ends_with("Ctrl-C gives up\n")) << captured.err();
}

TEST_F(LoginTest, AFileThatCannotBeUsedIsSaidBeforeAnybodyApproves) {
  fs::create_directories(file_.parent_path());
  std::ofstream(file_) << "{}";
  fs::permissions(file_, fs::perms(0644));
  FakeServer server([](FakeExchange&) { ADD_FAILURE() << "nothing may be asked"; });
  CapturedConsole captured(file_);
  EXPECT_EQ(login(server.url(), captured), kUsage);
  EXPECT_NE(captured.err().find("chmod 600"), std::string::npos);
}

TEST_F(LoginTest, ATokenThatCannotBeKeptIsRevoked) {
  FakeServer server([&](FakeExchange& exchange) { answer_polls(exchange, 200, granted()); });
  CapturedConsole captured;
  EXPECT_EQ(login(server.url(), captured), kUsage);
  EXPECT_EQ(revoked_, 1);
}

TEST_F(LoginTest, LogoutRevokesAndForgets) {
  FakeServer server([&](FakeExchange& exchange) { answer_polls(exchange, 500, ""); });
  ASSERT_TRUE(client::Credentials(file_).keep(server.url(), kToken));
  CapturedConsole captured(file_);
  EXPECT_EQ(run_logout({.daemon = {.url = server.url()}}, captured.console()), kOk);
  EXPECT_EQ(revoked_, 1);
  EXPECT_EQ(kept(server.url()), "");
  EXPECT_EQ(captured.err(), "agentd: signed out of " + server.url() + "\n");

  CapturedConsole again(file_);
  EXPECT_EQ(run_logout({.daemon = {.url = server.url()}}, again.console()), kOk);
  EXPECT_EQ(again.err(), "agentd: not signed in to " + server.url() + "\n");
}

TEST_F(LoginTest, LogoutForgetsATokenOfADaemonThatIsGone) {
  ASSERT_TRUE(client::Credentials(file_).keep("http://127.0.0.1:1", kToken));
  CapturedConsole captured(file_);
  EXPECT_EQ(run_logout({.daemon = {.url = "http://127.0.0.1:1"}}, captured.console()), kUnreachable);
  EXPECT_EQ(kept("http://127.0.0.1:1"), "");
  EXPECT_NE(captured.err().find("is forgotten here, but its session goes on"), std::string::npos);
}

TEST_F(LoginTest, TheOtherCommandsUseTheKeptTokenUnlessOneIsGiven) {
  std::mutex mutex;
  std::string authorization;
  FakeServer server([&](FakeExchange& exchange) {
    const std::lock_guard lock(mutex);
    const auto at = exchange.head().find("Authorization: ");
    authorization = at == std::string::npos ? "" : exchange.head().substr(at, exchange.head().find("\r\n", at) - at);
    exchange.answer(401, "");
  });
  const auto sent = [&] {
    const std::lock_guard lock(mutex);
    return authorization;
  };
  ASSERT_TRUE(client::Credentials(file_).keep(server.url(), kToken));
  const std::string signed_out = "agentd: signed out: run agentd login --url " + server.url() + "\n";
  const std::map<std::string, std::function<int(const std::string& token, Console console)>> commands = {
      {"send",
       [&](auto token, auto console) {
         return run_send({.daemon = {.url = server.url(), .token = token}, .text = "x"}, console);
       }},
      {"tasks",
       [&](auto token, auto console) { return run_tasks({.daemon = {.url = server.url(), .token = token}}, console); }},
      {"task",
       [&](auto token, auto console) { return run_task({.daemon = {.url = server.url(), .token = token}}, console); }},
      {"events", [&](auto token,
                     auto console) { return run_events({.daemon = {.url = server.url(), .token = token}}, console); }},
      {"devices",
       [&](auto token, auto console) {
         return run_devices({.daemon = {.url = server.url(), .token = token}}, console);
       }},
      {"sessions",
       [&](auto token, auto console) {
         return run_sessions({.daemon = {.url = server.url(), .token = token}}, console);
       }},
  };
  for (const auto& [name, run] : commands) {
    CapturedConsole stored(file_);
    EXPECT_EQ(run("", stored.console()), kRefused) << name;
    EXPECT_EQ(sent(), std::string("Authorization: Bearer ") + kToken) << name;
    EXPECT_EQ(stored.err(), signed_out) << name;
    CapturedConsole given(file_);
    EXPECT_EQ(run("given", given.console()), kRefused) << name;
    EXPECT_EQ(sent(), "Authorization: Bearer given") << name;
    EXPECT_NE(given.err().find("AGENTD_TOKEN"), std::string::npos) << name;
  }
}

TEST_F(LoginTest, ASessionThatIsRevokedWhileItReadsIsSignedOut) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_result({{"hello", {{"seq", 1}, {"resume", 1}, {"resync", false}, {"version", "0.1.0"}}}});
    exchange.send_result({{"goodbye", {{"seq", 1}, {"reason", "revoked"}}}});
    exchange.end_chunks();
  });
  ASSERT_TRUE(client::Credentials(file_).keep(server.url(), kToken));
  CapturedConsole captured(file_);
  EXPECT_EQ(run_events({.daemon = {.url = server.url()}}, captured.console()), kRefused);
  EXPECT_NE(captured.err().find("agentd: signed out: run agentd login"), std::string::npos) << captured.err();
}

}  // namespace
}  // namespace agentd::cli
