// Authorization: how the daemon is let in by an MCP server over HTTP that wants OAuth (MCP authorization of 2025-11-25; servers of
// 2025-03-26 too).
//
//   refused() --> the refresh token, or client credentials --> ask again
//        \------> a person: begin() --> a URL to visit … the browser comes back --> finish() --> signed in
//
// Where to sign in is the server's word, and trusted no further: whatever is not at its own host must be https at a public address, and a
// token goes to the server alone. Without metadata of any kind the authorization server is the server's own origin, as in 2025-03-26.
// Confined to its loop's thread. When it is gone nothing is called any more; not to be destroyed within a callback of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "config/agent.h"
#include "http/client.h"
#include "http/target.h"
#include "mcp/oauth_text.h"
#include "mcp/server.h"

namespace agentd::mcp {

class Authorization final {
 public:
  // `changed`: whether a person is wanted is another answer.
  Authorization(http::Client& client, config::McpServer config, SignIn sign_in, std::function<void()> changed);
  ~Authorization();

  // What is sent with each request; "" = nothing yet.
  [[nodiscard]] const std::string& token() const { return grant_.access_token; }
  // Whether nothing helps but that a person signs in.
  [[nodiscard]] bool wants_person() const { return wants_person_; }
  // What else stands in the way; "" = nothing.
  [[nodiscard]] const std::string& failure() const { return failure_; }

  // The server refused a request that carried `token`. `again`: it may be sent once more. Called at once when it is known.
  void refused(const std::string& token, const Challenge& challenge, std::function<void(bool again)> done);

  // Finds out where a person signs in. Errors: kUnavailable, saying what is missing.
  void begin(std::function<void(Result<std::string> url)> told);
  // Whether it waits for a browser that comes back with this state.
  [[nodiscard]] bool waits_for(const std::string& state) const { return asked_.contains(state); }
  // What it came back with; good once. Errors: kPermissionDenied, kUnavailable.
  void finish(const http::Query& back, std::function<void(Status)> done);

 private:
  // The authorization server.
  struct Place {
    std::string issuer, authorize, token, registration;
    std::string resource, scope;
    std::vector<std::string> methods;  // by which clients may show who they are
    bool names_itself = false;         // by `iss` when a browser comes back
  };
  struct Identity {
    std::string id, secret, method;
  };
  struct Grant {
    std::string issuer, token_endpoint, resource, access_token, refresh_token, scope;
    Identity client;
  };
  struct Asked {
    std::string verifier;
    Place place;
    Identity client;
  };
  struct Fetch;
  using Answered = std::function<void(int status, const Json& answer)>;  // 0: nobody there; null: no object
  using Found = std::function<void(Result<Place>)>;

  void fetch(http::OutboundRequest request, Answered answered);
  void first_of(std::vector<std::string> urls, std::function<void(Json)> found);
  void find(Found found);
  void take_metadata(Place place, const Json& metadata, const Found& found) const;
  void identify(const Place& place, std::function<void(Result<Identity>)> told);
  void ask_for_token(const Place& place, const Identity& client, http::Query fields, std::function<void(Status)> done);
  void take_grant(const Place& place, const Identity& client, const Json& answer);
  void renew();
  void renewed(const Status& status);
  [[nodiscard]] std::string scope_for(const Place& place) const;
  [[nodiscard]] Status check_place(const Place& place) const;
  [[nodiscard]] http::OutboundRequest request_to(const std::string& url) const;
  void set_wants_person(bool wants);
  void load(const Json& kept);
  void keep() const;

  http::Client& client_;
  const config::McpServer config_;
  const SignIn sign_in_;
  const std::function<void()> changed_;
  Grant grant_;
  Challenge challenge_;  // the last one
  std::string failure_;
  bool wants_person_ = false;
  bool renewing_ = false;
  std::vector<std::function<void(bool)>> waiting_;  // for what renews
  std::map<std::string, Asked> asked_;              // by state
  std::uint64_t last_fetch_ = 0;
  std::map<std::uint64_t, std::unique_ptr<Fetch>> fetches_;
};

}  // namespace agentd::mcp
