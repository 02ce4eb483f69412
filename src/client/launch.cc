#include "client/launch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "base/folders.h"
#include "client/device_grant.h"
#include "client/oauth.h"
#include "client/url.h"
#include "http/target.h"

namespace agentd::client {
namespace {

constexpr const char* kClientId = "agentd-cli";
constexpr const char* kLaunchGrant = "urn:agentd:params:oauth:grant-type:launch";
constexpr Deadlines kDeadlines{.connect_ms = 2'000, .silence_ms = 5'000, .total_ms = 5'000};

// Whoever else may write to the folder, should the environment name such a one, could put a socket of theirs there.
bool is_own_socket(const std::string& path) {
  struct stat about{};
  return !path.empty() && ::lstat(path.c_str(), &about) == 0 && S_ISSOCK(about.st_mode) && about.st_uid == ::geteuid();
}

// What the daemon says of a token, or of none: either is good enough there, or here is a code for a better one.
struct Verdict {
  bool good = false;
  std::string code = {};  // "" = neither
};

Verdict ask(const std::string& socket, const std::string& origin, const std::string& token, const Stop& stop) {
  const auto answer =
      http_request({.url = "http://localhost/oauth2/launch",
                    .headers = {{"Content-Type", "application/x-www-form-urlencoded"}, {"Accept", "application/json"}},
                    .body = http::form_of({{"client_id", kClientId}, {"origin", origin}, {"token", token}}),
                    .socket = socket},
                   kDeadlines, stop);
  if (!answer) return {};
  if (answer->head.status == 204) return {.good = true};
  if (answer->head.status != 200) return {};
  return {.code = text_of(object_of(answer->body), "code")};
}

// "" = none.
std::string exchange(const Endpoint& daemon, const std::string& code, const Stop& stop) {
  const auto answer =
      post_form(daemon, "/oauth2/token",
                http::form_of({{"grant_type", kLaunchGrant}, {"launch_code", code}, {"client_id", kClientId}}), stop);
  if (!answer || answer->head.status != 200) return "";
  auto grant = grant_of(*answer);
  return grant ? std::move(grant->token) : "";
}

}  // namespace

Result<Endpoint> endpoint_of(Endpoint asked, const Credentials& credentials, const Stop& stop) {
  if (!asked.token.empty()) return asked;
  auto kept = credentials.find(asked.url);
  if (!kept) return std::unexpected(kept.error());
  if (!kept->token.empty() && !kept->launch) {
    asked.token = std::move(kept->token);
    asked.stored = true;
    return asked;
  }
  const auto url = canonical_url(asked.url);
  if (!url || !is_loopback(*url) || credentials.path().empty()) return asked;  // what cannot be kept is not asked for
  const std::string socket = control_socket(port_of(*url));
  if (!is_own_socket(socket)) return asked;
  const Endpoint here{.url = origin_of(*url), .ca = asked.ca};
  const Verdict verdict = ask(socket, here.url, kept->token, stop);
  if (verdict.good) asked.token = std::move(kept->token);
  if (verdict.code.empty()) return asked;
  const std::string token = exchange(here, verdict.code, stop);
  if (token.empty()) return asked;
  if (const Status done = credentials.keep_launch(asked.url, token); !done) {
    // Nobody will have the token, so nobody shall be signed in; if that fails too, the session expires.
    [[maybe_unused]] const auto revoked = revoke_token(here, token, stop);
    return std::unexpected(done.error());
  }
  asked.token = token;
  return asked;
}

}  // namespace agentd::client
