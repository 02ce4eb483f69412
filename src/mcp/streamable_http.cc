#include "mcp/streamable_http.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/log.h"
#include "http/sse_reader.h"

namespace agentd::mcp {
namespace {

constexpr std::int64_t kRetryMs = 1'000;  // unless the server says otherwise
constexpr std::int64_t kLastRetryMs = 60'000;
constexpr int kTries = 8;  // of a stream that was cut, without an event in between
constexpr std::uint64_t kAnswerBytes = 16U << 20U;

bool has_authorization(const config::McpServer& config) {
  const auto is_it = [](const auto& header) { return http::same_name(header.first, "Authorization"); };
  return std::ranges::any_of(config.headers, is_it) || std::ranges::any_of(config.secret_headers, is_it);
}

class HttpTransport final : public Transport {
 public:
  HttpTransport(net::Loop& loop, http::Client& client, const config::McpServer& config, Authorization& authorization,
                Events events)
      : loop_(loop),
        client_(client),
        config_(config),
        authorization_(authorization),
        knows_how_(has_authorization(config)),
        events_(std::move(events)) {}
  ~HttpTransport() override { *alive_ = false; }

  void send(const Json& message) override;
  void negotiated(const std::string& version) override {
    version_ = version;
    listen();
  }

 private:
  // One request and the stream that answers it, over as many connections as it takes; or (id null) the stream of the server's own words.
  struct Flow {
    explicit Flow(net::Loop& loop) : again(loop) {}
    Json id;  // of the JSON-RPC request that waits for an answer; null: none does
    bool listens = false;
    bool is_stream = false;
    int status = 0;
    int tries = 0;
    std::optional<Challenge> challenge;  // of an answer of 401, or of one that wants a wider scope
    std::string token;                   // that it was sent with
    bool was_renewed = false;            // it was sent again, with another token
    std::string message;                 // as it was sent
    std::string body;
    std::string last_event;
    std::int64_t retry_ms = kRetryMs;
    std::optional<http::SseReader> reader;
    http::Transfer transfer;
    net::Timer again;
  };

  [[nodiscard]] http::OutboundRequest request(const char* method) const;
  void start(std::uint64_t number, http::OutboundRequest request);
  void listen();
  void take_head(Flow& flow, const http::ResponseHead& head);
  void take_body(std::uint64_t number, std::string_view piece);
  void take_text(std::uint64_t number, std::string_view text);
  void ended(std::uint64_t number, const Status& status);
  void resume(std::uint64_t number, const std::string& why);
  void refuse(std::uint64_t number, const std::string& why);
  void drop(std::uint64_t number);
  void post(std::uint64_t number);
  void authorize(std::uint64_t number);
  void close(const std::string& why);

  net::Loop& loop_;
  http::Client& client_;
  const config::McpServer config_;
  Authorization& authorization_;
  const bool knows_how_;  // the configuration says what to send
  const Events events_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::string session_, version_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::unique_ptr<Flow>> flows_;
  bool closed_ = false;
};

http::OutboundRequest HttpTransport::request(const char* method) const {
  http::OutboundRequest out{.method = method, .url = config_.url, .reach = http::Reach::kAnywhere};
  for (const auto& header : config_.headers) out.headers.push_back(header);
  for (const auto& [name, secret] : config_.secret_headers) out.headers.emplace_back(name, secret.value);
  if (const std::string& token = authorization_.token(); !token.empty() && !knows_how_)
    out.headers.emplace_back("Authorization", "Bearer " + token);
  if (!session_.empty()) out.headers.emplace_back("Mcp-Session-Id", session_);
  if (!version_.empty()) out.headers.emplace_back("MCP-Protocol-Version", version_);
  out.most_bytes = 0xFFFF'FFFF;  // a stream may be long; each of its events is bounded
  // How long an answer may take is the session's to say.
  out.deadlines = {.first_byte_ms = 0, .silence_ms = 0, .total_ms = 0};
  return out;
}

void HttpTransport::send(const Json& message) {
  if (closed_) return;
  const std::uint64_t number = ++last_;
  auto flow = std::make_unique<Flow>(loop_);
  if (message.contains("method") && message.contains("id")) flow->id = message["id"];
  flow->message = dump_json(message);
  flows_.emplace(number, std::move(flow));
  post(number);
}

void HttpTransport::post(std::uint64_t number) {
  http::OutboundRequest out = request("POST");
  out.headers.emplace_back("Content-Type", "application/json");
  out.headers.emplace_back("Accept", "application/json, text/event-stream");
  out.body = flows_.at(number)->message;
  start(number, std::move(out));
}

void HttpTransport::listen() {
  const std::uint64_t number = ++last_;
  auto flow = std::make_unique<Flow>(loop_);
  flow->listens = true;
  flows_.emplace(number, std::move(flow));
  resume(number, "");
}

void HttpTransport::start(std::uint64_t number, http::OutboundRequest request) {
  Flow& flow = *flows_.at(number);
  flow.reader.emplace();
  flow.body.clear();
  flow.is_stream = false;
  flow.challenge.reset();
  flow.token = authorization_.token();
  flow.transfer = client_.start(std::move(request),
                                {.head = [this, &flow](const http::ResponseHead& head) { take_head(flow, head); },
                                 .body = [this, number](std::string_view piece) { take_body(number, piece); },
                                 .done = [this, number](const Status& status) { ended(number, status); }});
}

void HttpTransport::take_head(Flow& flow, const http::ResponseHead& head) {
  flow.status = head.status;
  flow.is_stream = head.status == 200 && head.header("content-type").starts_with("text/event-stream");
  if (const auto session = head.header("mcp-session-id"); !session.empty()) session_ = session;
  if (knows_how_) return;
  const Challenge challenge = read_challenge(head.header("www-authenticate"));
  if (head.status == 401 || (head.status == 403 && challenge.error == "insufficient_scope")) flow.challenge = challenge;
}

void HttpTransport::take_body(std::uint64_t number, std::string_view piece) {
  if (!flows_.contains(number)) return;  // dropped; its transfer goes a turn of the loop later
  Flow& flow = *flows_.at(number);
  if (!flow.is_stream) {
    if (flow.body.size() + piece.size() <= kAnswerBytes) flow.body += piece;
    return;
  }
  std::vector<http::SseItem> items;
  const bool sound = flow.reader->read(piece, items).has_value();
  if (const auto retry = flow.reader->retry_ms()) flow.retry_ms = std::min(*retry, kLastRetryMs);
  for (const http::SseItem& item : items) {
    if (!item.id.empty()) flow.last_event = item.id;
    if (item.type != http::SseItem::Type::kEvent) continue;
    flow.tries = 0;
    if (!item.data.empty()) take_text(number, item.data);
    if (closed_ || !flows_.contains(number)) return;
  }
  if (!sound) drop(number);
}

// A message, or in older revisions a batch of them.
void HttpTransport::take_text(std::uint64_t number, std::string_view text) {
  const auto parsed = parse_json(text, {.bytes = kAnswerBytes});
  if (!parsed) return log::debug("an MCP server sent what is no JSON", {{"server", config_.name}});
  const Json batch = parsed->is_array() ? *parsed : Json::array({*parsed});
  for (const Json& message : batch) {
    if (!message.is_object()) continue;
    const auto flow = flows_.find(number);
    if (flow == flows_.end()) return;
    const Json within = flow->second->id;
    if (!message.contains("method") && message.value("id", Json()) == flow->second->id) flow->second->id = nullptr;
    events_.received(message, within);
    if (closed_) return;
  }
}

void HttpTransport::ended(std::uint64_t number, const Status& status) {
  if (!flows_.contains(number)) return;
  Flow& flow = *flows_.at(number);
  if (!status && !flow.is_stream && flow.status == 0) {
    return flow.listens ? resume(number, status.error().message) : refuse(number, status.error().message);
  }
  if (flow.is_stream) {
    // Its answer is still to come, or it is the stream that stays.
    if (flow.listens || !flow.id.is_null()) return resume(number, status ? "its stream ended" : status.error().message);
    return drop(number);
  }
  if (flow.status == 404 && !session_.empty()) return close("it does not know the session any more");
  if (flow.challenge && !flow.listens && !flow.was_renewed) return authorize(number);
  if (flow.listens) return drop(number);  // 405: it has no words of its own
  if (flow.status >= 400) return refuse(number, fmt::format("HTTP {}", flow.status));
  if (!status) return refuse(number, status.error().message);
  if (!flow.body.empty()) take_text(number, std::string(flow.body));
  if (closed_ || !flows_.contains(number)) return;
  if (!flows_.at(number)->id.is_null()) return refuse(number, "it answered with something else");
  drop(number);
}

// It is sent once more when that may help.
void HttpTransport::authorize(std::uint64_t number) {
  const Flow& flow = *flows_.at(number);
  authorization_.refused(flow.token, *flow.challenge, [this, number, alive = alive_](bool again) {
    if (!*alive || !flows_.contains(number)) return;
    if (again) {
      flows_.at(number)->was_renewed = true;
      return post(number);
    }
    const std::string& failure = authorization_.failure();
    refuse(number, authorization_.wants_person() || failure.empty() ? "it wants somebody to sign in" : failure);
  });
}

// Goes on with a stream from its last event. One that has none cannot be gone on with, unless it is the server's own.
void HttpTransport::resume(std::uint64_t number, const std::string& why) {
  Flow& flow = *flows_.at(number);
  if (!flow.listens && flow.last_event.empty()) return refuse(number, why);
  if (++flow.tries > kTries) return flow.listens ? drop(number) : refuse(number, why);
  const bool first = flow.listens && flow.tries == 1 && flow.last_event.empty();
  flow.again.arm(first ? 0 : flow.retry_ms, [this, number] {
    http::OutboundRequest get = request("GET");
    get.headers.emplace_back("Accept", "text/event-stream");
    if (const std::string& last = flows_.at(number)->last_event; !last.empty())
      get.headers.emplace_back("Last-Event-ID", last);
    start(number, std::move(get));
  });
}

// The request is answered with an error in the server's stead.
void HttpTransport::refuse(std::uint64_t number, const std::string& why) {
  const Json id = std::exchange(flows_.at(number)->id, nullptr);
  drop(number);
  if (!id.is_null()) {
    events_.received(
        {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", -32000}, {"message", "it cannot be reached: " + why}}}},
        id);
  }
}

// Its transfer or timer may be calling us.
void HttpTransport::drop(std::uint64_t number) {
  if (auto node = flows_.extract(number)) loop_.post([gone = std::move(node.mapped())] {});
}

void HttpTransport::close(const std::string& why) {
  closed_ = true;
  loop_.post([gone = std::exchange(flows_, {})] {});
  events_.closed(why);
}

}  // namespace

std::unique_ptr<Transport> make_http_transport(net::Loop& loop, http::Client& client, const config::McpServer& config,
                                               Authorization& authorization, Transport::Events events) {
  return std::make_unique<HttpTransport>(loop, client, config, authorization, std::move(events));
}

}  // namespace agentd::mcp
