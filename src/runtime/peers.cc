#include "runtime/peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "base/ids.h"
#include "base/log.h"
#include "http/sse_reader.h"
#include "runtime/peer_task.h"

namespace agentd::runtime {
namespace {

constexpr std::int64_t kCardMs = 300'000;
constexpr std::int64_t kFirstRetryMs = 500;
constexpr std::int64_t kLastRetryMs = 30'000;
constexpr int kRetries = 10;  // of a stream that was cut, in a row
constexpr std::uint64_t kCardBytes = 1U << 20U;
constexpr std::size_t kSkills = 20;

std::string origin_of(const std::string& url) {
  const std::size_t host = url.find("://");
  return host == std::string::npos ? url : url.substr(0, url.find('/', host + 3));
}

std::string card_url(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url + "/.well-known/agent-card.json";
}

std::string tool_of(const std::string& peer) {
  std::string out = peer;
  std::ranges::replace_if(out, [](unsigned char c) { return std::isalnum(c) == 0 && c != '_' && c != '-'; }, '_');
  return out + "__send";
}

Json schema() {
  return Json::parse(R"({
    "type": "object",
    "properties": {
      "message": {"type": "string", "minLength": 1, "maxLength": 262144,
                  "description": "All that the agent has to know: it sees nothing of this conversation."},
      "task": {"type": "string", "description": "Of an answer to what it asked: its task."}
    },
    "required": ["message"]
  })");
}

// The first JSON-RPC interface of 1.x, or "". Throws what the Json library throws at a card of another shape.
std::string interface_of(const Json& card) {
  for (const Json& one : card.value("supportedInterfaces", Json::array())) {
    if (one.value("protocolBinding", "") == "JSONRPC" && one.value("protocolVersion", "1.0").starts_with("1.")) {
      return one.value("url", "");
    }
  }
  return "";
}

std::string description_of(const std::string& name, const Json& card) {
  std::string out = fmt::format("Hands work to the agent {} and gives what it answers.", name);
  if (!card.is_object()) return out;
  out += fmt::format(" {}: {}", card.value("name", name), card.value("description", ""));
  std::size_t count = 0;
  for (const Json& skill : card.value("skills", Json::array())) {
    if (++count > kSkills) break;
    out += fmt::format("\n- {}: {}", skill.value("name", ""), skill.value("description", ""));
  }
  return cut_text(out, 4'000);
}

}  // namespace

struct Peers::Peer {
  config::Peer config;
  std::string description;  // of its tool
  std::string url;          // of its interface; "" until the card was fetched
  std::int64_t fetched_ms = 0;
  std::string failure;  // why there is no card
  http::Transfer fetching;
  std::string body;
  int status = 0;
  std::vector<std::function<void()>> waiting;  // for the card, or for its failure

  void take(const Json& fresh, std::int64_t now_ms) {
    try {
      url = interface_of(fresh);
      description = description_of(config.name, fresh);
      fetched_ms = now_ms;
    } catch (const Json::exception&) {
      url.clear();
    }
  }

  [[nodiscard]] http::OutboundRequest request(const std::string& method, Json params) const {
    const Json envelope = {{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", std::move(params)}};
    http::OutboundRequest out{
        .url = url,
        .headers = {{"Content-Type", "application/json"}, {"A2A-Version", "1.0"}},
        .body = dump_json(envelope),
        .reach = origin_of(url) == origin_of(config.url) ? http::Reach::kAnywhere : http::Reach::kPublic};
    // The token is for the peer that the operator named, and for no other host.
    if (config.bearer && out.reach == http::Reach::kAnywhere) {
      out.headers.emplace_back("Authorization", "Bearer " + config.bearer->value);
    }
    out.deadlines.total_ms = 0;
    return out;
  }
};

// One message handed over, and its task followed to where it is settled.
class Peers::Use final : public ToolUse {
 public:
  Use(Peers& all, std::shared_ptr<Peer> peer, ToolRequest request, ToolListener listener)
      : all_(all),
        peer_(std::move(peer)),
        request_(std::move(request)),
        listener_(std::move(listener)),
        retry_(all.loop_) {}
  ~Use() override {
    *alive_ = false;
    if (listener_.done && !task_.id().empty() && !task_.is_settled()) all_.cancel(peer_, task_.id());
  }

  void begin() {
    if (!peer_->url.empty() && all_.clock_.mono_ms() - peer_->fetched_ms < kCardMs) return send();
    peer_->waiting.emplace_back([this, alive = alive_] {
      if (*alive) send();
    });
    all_.fetch_card(peer_);
  }

 private:
  void send() {
    if (peer_->url.empty()) return finish({.text = "The agent cannot be reached: " + peer_->failure, .is_error = true});
    Json message = {{"messageId", random_uuid()},
                    {"role", "ROLE_USER"},
                    {"parts", Json::array({Json{{"text", request_.arguments.value("message", "")}}})}};
    if (const std::string task = request_.arguments.value("task", ""); !task.empty()) message["taskId"] = task;
    follow(peer_->request("SendStreamingMessage", {{"message", std::move(message)}}));
  }

  void follow(http::OutboundRequest request) {
    reader_.emplace();
    refusal_.clear();
    is_stream_ = false;
    transfer_ = all_.client_.start(std::move(request),
                                   {.head =
                                        [this](const http::ResponseHead& head) {
                                          is_stream_ = head.status == 200 &&
                                                       head.header("content-type").starts_with("text/event-stream");
                                          status_ = head.status;
                                        },
                                    .body = [this](std::string_view piece) { take(piece); },
                                    .done = [this](const Status& status) { ended(status); }});
  }

  void take(std::string_view piece) {
    if (!is_stream_) {
      refusal_ += piece;
      return;
    }
    std::vector<http::SseItem> items;
    if (!reader_->read(piece, items)) {
      transfer_ = {};
      return ended(fail(Code::kUnavailable, "its stream is no stream of events"));
    }
    for (const http::SseItem& item : items) {
      if (item.type != http::SseItem::Type::kEvent) continue;
      const auto envelope = parse_json(item.data, {.bytes = 16U << 20U});
      if (!envelope || !envelope->is_object()) continue;
      if (envelope->contains("error")) return finish(refused((*envelope)["error"]));
      tries_ = 0;
      task_.take(envelope->value("result", Json()));
      if (task_.is_settled()) return finish(task_.outcome());
    }
  }

  void ended(const Status& status) {
    if (!is_stream_ && status) return take_answer();
    const std::string why = status ? "its stream ended early" : status.error().message;
    // Without a task nothing is known to have begun; to say it again could do it twice.
    if (task_.id().empty() || ++tries_ > kRetries) {
      return finish({.text = "The agent cannot be reached: " + why, .is_error = true});
    }
    retry_.arm(std::min(kFirstRetryMs << (tries_ - 1), kLastRetryMs),
               [this] { follow(peer_->request("SubscribeToTask", {{"id", task_.id()}})); });
  }

  // No stream: a refusal, or the task that was asked for.
  void take_answer() {
    const auto envelope = parse_json(refusal_, {.bytes = 16U << 20U});
    const bool sound = envelope && envelope->is_object();
    if (sound && envelope->contains("result")) {
      task_.take({{"task", (*envelope)["result"]}});
      if (task_.is_settled()) return finish(task_.outcome());
    }
    // A task that has ended meanwhile cannot be subscribed to, but read.
    if (!task_.id().empty() && !std::exchange(reads_, true))
      return follow(peer_->request("GetTask", {{"id", task_.id()}}));
    if (sound && envelope->contains("error")) return finish(refused((*envelope)["error"]));
    finish({.text = fmt::format("The agent answered with HTTP {}.", status_), .is_error = true});
  }

  [[nodiscard]] static ToolOutcome refused(const Json& error) {
    const Json message = error.is_object() ? error.value("message", Json()) : Json();
    return {.text = "The agent refuses: " + cut_text(message.is_string() ? message.get<std::string>() : "", 1'000),
            .is_error = true};
  }

  void finish(ToolOutcome outcome) {
    auto done = std::exchange(listener_.done, nullptr);
    transfer_ = {};
    if (done) done(std::move(outcome));
  }

  Peers& all_;
  const std::shared_ptr<Peer> peer_;
  const ToolRequest request_;
  ToolListener listener_;
  net::Timer retry_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  PeerTask task_;
  std::optional<http::SseReader> reader_;
  std::string refusal_;
  bool is_stream_ = false;
  bool reads_ = false;  // the task was read, once
  int status_ = 0;
  int tries_ = 0;
  http::Transfer transfer_;
};

Peers::Peers(net::Loop& loop, const Clock& clock, http::Client& client) : loop_(loop), clock_(clock), client_(client) {}
Peers::~Peers() = default;

void Peers::set_peers(const std::vector<config::Peer>& peers) {
  std::map<std::string, std::shared_ptr<Peer>> next;
  for (const config::Peer& named : peers) {
    const std::string tool = tool_of(named.name);
    const auto known = peers_.find(tool);
    if (known != peers_.end() && known->second->config == named) {
      next[tool] = known->second;
      continue;
    }
    auto peer = std::make_shared<Peer>();
    peer->config = named;
    peer->description = description_of(named.name, nullptr);
    next[tool] = peer;
    fetch_card(peer);
  }
  peers_ = std::move(next);
  changed();
}

void Peers::stop() {
  for (const auto& [tool, peer] : peers_) {
    peer->fetching = {};
    peer->waiting.clear();
  }
  farewells_.clear();
}

void Peers::list(std::vector<ToolFacts>& out) const {
  for (const auto& [tool, peer] : peers_) {
    out.push_back({.spec = {.name = tool, .description = peer->description, .schema = schema()}});
  }
}

std::unique_ptr<ToolUse> Peers::use(ToolRequest request, ToolListener listener) {
  const auto peer = peers_.find(request.name);
  if (peer == peers_.end()) return nullptr;
  auto use = std::make_unique<Use>(*this, peer->second, std::move(request), std::move(listener));
  use->begin();
  return use;
}

void Peers::fetch_card(const std::shared_ptr<Peer>& peer) {
  peer->body.clear();
  http::OutboundRequest request{.method = "GET", .url = card_url(peer->config.url), .reach = http::Reach::kAnywhere};
  request.most_bytes = kCardBytes;
  request.deadlines.total_ms = request.deadlines.first_byte_ms;
  Peer* raw = peer.get();  // which outlives its own transfer
  peer->fetching = client_.start(
      std::move(request),
      {.head = [raw](const http::ResponseHead& head) { raw->status = head.status; },
       .body = [raw](std::string_view piece) { raw->body += piece; },
       .done =
           [this, raw](const Status& status) {
             const auto card = parse_json(raw->body, {.bytes = kCardBytes});
             const bool good = status && raw->status == 200 && card && card->is_object();
             if (good) raw->take(*card, clock_.mono_ms());
             changed();
             raw->failure = !status              ? status.error().message
                            : raw->status != 200 ? fmt::format("its card is answered with HTTP {}", raw->status)
                            : !good              ? "its card is no JSON"
                                                 : "its card names no JSON-RPC interface of A2A 1.0";
             if (raw->url.empty()) {
               log::warn("a peer cannot be reached", {{"peer", raw->config.name}, {"why", raw->failure}});
             }
             for (const auto& go_on : std::exchange(raw->waiting, {})) go_on();
           }});
}

void Peers::cancel(const std::shared_ptr<Peer>& peer, const std::string& task) {
  const std::uint64_t number = ++last_farewell_;
  auto request = peer->request("CancelTask", {{"id", task}});
  request.deadlines.total_ms = request.deadlines.first_byte_ms;
  farewells_[number] = client_.start(std::move(request), {.head = [](const http::ResponseHead&) {},
                                                          .body = [](std::string_view) {},
                                                          .done =
                                                              [this, number](const Status&) {
                                                                loop_.post([gone = std::move(farewells_[number])] {});
                                                                farewells_.erase(number);
                                                              }});
}

}  // namespace agentd::runtime
