// What the configuration says of the agent's work: its model, tools, peers and limits. Values, part of the Snapshot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/secret.h"

namespace agentd::config {

enum class Provider : std::uint8_t { kScripted, kOpenAi, kAnthropic };

// One place at which the model is served. What is left out is the model's own.
struct Endpoint {
  std::string url;  // up to what the provider's paths come after: "https://api.openai.com/v1"
  std::string model;
  std::optional<Secret> api_key;

  bool operator==(const Endpoint&) const = default;
};

struct Model {
  Provider provider = Provider::kScripted;
  std::string script;               // of the scripted model: path of its rules; "" = the built-in ones
  std::vector<Endpoint> endpoints;  // tried in this order; none: the provider's own
  std::string name;                 // as the provider calls it
  std::optional<Secret> api_key;
  std::uint64_t max_tokens = 8192;         // of one answer
  std::optional<double> temperature;       // the provider's own when left out
  std::uint64_t context_tokens = 128'000;  // of instructions, conversation and tools; the rest is made shorter
  std::string ca, proxy;
  std::int64_t connect_timeout_ms = 10'000;
  std::int64_t first_byte_timeout_ms = 120'000;
  std::int64_t silence_timeout_ms = 60'000;
  std::uint64_t retries = 4;  // of one round, over all endpoints

  bool operator==(const Model&) const = default;
};

// "openai:gpt-5", and "scripted" alone, which has no name.
[[nodiscard]] std::string name_of(const Model& model);

// A tool that changes something outside is asked about, or is not (`agent.approval`).
enum class Approval : std::uint8_t {
  kAsk,     // a person is asked before each
  kAuto,    // those that say they only read go ahead, the others are asked about
  kAccept,  // all go ahead
};

// "ask", "auto", "accept"; nothing of another word.
[[nodiscard]] std::optional<Approval> approval_of(std::string_view word);

// What becomes of a question to a person when there is nobody who could answer it.
enum class Nobody : std::uint8_t {
  kFail,  // what asks fails
  kWait,  // until somebody comes, or the question's deadline
  kDeny,  // the answer is no
  kAuto,  // the answer is yes, or the question's own default
};

struct Budget {  // 0 = without limit
  std::uint64_t tokens_per_turn = 0, tokens_per_day = 0;
  std::uint64_t rounds_per_turn = 30;
  std::int64_t turn_timeout_ms = 600'000;
  double usd_per_turn = 0, usd_per_day = 0;

  bool operator==(const Budget&) const = default;
};

// What a model costs, in dollars for a million tokens.
struct Price {
  std::string model;
  double input = 0, output = 0;

  bool operator==(const Price&) const = default;
};

// How the daemon is let in by a server that wants OAuth. What is left out is found out.
struct McpOauth {
  std::string client_id;  // "" = the daemon registers itself
  std::optional<Secret> client_secret;
  std::optional<Secret> private_key;  // in PEM, instead of the secret
  std::string scope;                  // "" = what the server asks for
  std::string grant;  // "authorization_code", which "" is too: a person signs in; or "client_credentials"

  [[nodiscard]] bool by_person() const { return grant != "client_credentials"; }
  bool operator==(const McpOauth&) const = default;
};

struct McpServer {
  std::string name;
  // A program that speaks MCP on its stdin and stdout, or, with `url`, a server over HTTP.
  std::vector<std::string> command;  // and its arguments
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::pair<std::string, Secret>> secret_env;
  std::string cwd;
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::pair<std::string, Secret>> secret_headers;
  McpOauth oauth;
  std::vector<std::string> tools;  // globs of those that the agent may use; none = all
  std::int64_t start_timeout_ms = 60'000, call_timeout_ms = 120'000;

  bool operator==(const McpServer&) const = default;
};

struct Peer {
  std::string name, url;
  std::optional<Secret> bearer;

  bool operator==(const Peer&) const = default;
};

}  // namespace agentd::config
