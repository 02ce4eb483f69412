#include "runtime/mcp_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/digest.h"

namespace agentd::runtime {
namespace {

constexpr std::size_t kMaxName = 64;
constexpr std::int64_t kPatienceMs = 10'000;
constexpr std::size_t kDigest = 8;  // hex digits that keep long names apart

std::string plain(const std::string& name) {
  std::string out = name;
  std::ranges::replace_if(out, [](unsigned char c) { return std::isalnum(c) == 0 && c != '_' && c != '-'; }, '_');
  return out;
}

// Images and the like, as parts of an artifact.
Json parts_of(const Json& content) {
  Json out = Json::array();
  for (const Json& block : content) {
    if (!block.is_object() || !block.contains("data") || !block["data"].is_string()) continue;
    const Json type = block.value("mimeType", Json());
    out.push_back({{"raw", block["data"]}, {"mediaType", type.is_string() ? type : Json("application/octet-stream")}});
  }
  return out;
}

std::function<void(mcp::Elicitation)> asking(std::function<void(ToolQuestion)> elicit) {
  if (!elicit) return nullptr;
  return [elicit = std::move(elicit)](mcp::Elicitation asked) {
    elicit({.id = std::move(asked.id),
            .message = std::move(asked.message),
            .schema = std::move(asked.schema),
            .answer = std::move(asked.answer)});
  };
}

std::function<void(double, double, const std::string&)> showing(std::function<void(const std::string&)> show) {
  if (!show) return nullptr;
  return [show = std::move(show)](double progress, double total, const std::string& message) {
    const std::string far = total > 0 ? fmt::format("{} of {}", progress, total) : fmt::format("{}", progress);
    show(message.empty() ? far : fmt::format("{} ({})", message, far));
  };
}

class McpUse final : public ToolUse {
 public:
  explicit McpUse(mcp::Call call) : call_(std::move(call)) {}

 private:
  mcp::Call call_;
};

}  // namespace

std::string ToolNames::next(const std::string& server, const std::string& tool) {
  std::string name = plain(server) + "__" + plain(tool);
  if (name.size() > kMaxName || given_.contains(name)) {
    name.resize(std::min(name.size(), kMaxName - kDigest - 1));
    name += "_" + sha256_hex(server + "/" + tool).substr(0, kDigest);
  }
  given_.insert(name);
  return name;
}

McpTools::McpTools(net::Loop& loop, const Clock& clock, process::Children& processes, ChildList& children,
                   http::Client& client, Instance& instance, std::string redirect_uri)
    : loop_(loop),
      clock_(clock),
      processes_(processes),
      children_(children),
      client_(client),
      instance_(instance),
      redirect_uri_(std::move(redirect_uri)),
      sign_ins_(loop) {}

std::unique_ptr<mcp::Server> McpTools::start(const config::McpServer& server) {
  mcp::Server::Events events{
      .tools_changed = [this] { changed(); },
      .child_started = [this, name = server.name](process::ChildId node,
                                                  int pid) { children_.started(node, pid, "mcp:" + name); },
      .child_ended = [this](process::ChildId node) { children_.reaped(node); }};
  const std::string kept = "mcp:" + server.name;
  mcp::SignIn sign_in{.redirect_uri = redirect_uri_, .kept = instance_.kept(kept), .keep = [this, kept](Json tokens) {
                        instance_.keep(kept, std::move(tokens));
                      }};
  return std::make_unique<mcp::Server>(loop_, processes_, client_, server, std::move(events), std::move(sign_in));
}

void McpTools::set_servers(const std::vector<config::McpServer>& servers) {
  std::map<std::string, Known> next;
  for (const config::McpServer& server : servers) {
    const auto known = servers_.find(server.name);
    const bool same = known != servers_.end() && known->second.server->config() == server;
    next[server.name] = same ? std::move(known->second) : Known{.server = start(server), .since_ms = clock_.mono_ms()};
  }
  const auto before = std::exchange(servers_, std::move(next));
  changed();
  // Who waited goes on at once, with the tools that there are now.
  for (const auto& [name, known] : before) {
    if (known.server) sign_ins_.forget(*known.server);
  }
}

bool McpTools::is_starting() const {
  for (const auto& [name, known] : servers_) {
    known.settled = known.settled || known.server->state() != "starting";
    if (!known.settled && clock_.mono_ms() - known.since_ms < kPatienceMs) return true;
  }
  return false;
}

std::vector<McpTools::Named> McpTools::named() const {
  std::vector<Named> out;
  ToolNames names;
  for (const auto& [name, known] : servers_) {
    if (known.server->wants_sign_in()) out.push_back({names.next(name, "sign_in"), *known.server, nullptr});
    for (const mcp::Tool& tool : known.server->tools())
      out.push_back({names.next(name, tool.name), *known.server, &tool});
  }
  return out;
}

void McpTools::list(std::vector<ToolFacts>& out) const {
  for (const auto& [name, server, tool] : named()) {
    if (tool == nullptr) {
      out.push_back(McpSignIns::facts(name, server.config().name));
      continue;
    }
    out.push_back({.spec = {.name = name, .description = tool->description, .schema = tool->schema},
                   .read_only = tool->read_only,
                   .beside_others = tool->read_only});
  }
}

std::unique_ptr<ToolUse> McpTools::use(ToolRequest request, ToolListener listener) {
  const auto tools = named();
  const auto known = std::ranges::find(tools, request.name, &Named::name);
  if (known == tools.end()) return nullptr;
  if (known->tool == nullptr) return sign_in(known->server, request, std::move(listener));
  mcp::CallListener heard{
      .owner = request.principal,
      .progress = showing(std::move(listener.progress)),
      .elicit = asking(std::move(listener.elicit)),
      .withdraw = std::move(listener.withdraw),
      .done = [done = std::move(listener.done)](Result<mcp::ToolResult> result) mutable {
        if (!result) return done({.text = result.error().message, .is_error = true});
        done({.text = std::move(result->text), .is_error = result->is_error, .parts = parts_of(result->content)});
      }};
  return std::make_unique<McpUse>(
      known->server.call(known->tool->name, std::move(request.arguments), std::move(heard)));
}

// Turns wait for what it lists then, as for one that has just been started.
std::unique_ptr<ToolUse> McpTools::sign_in(mcp::Server& server, const ToolRequest& request, ToolListener listener) {
  return sign_ins_.use(server, request, std::move(listener), [this, name = server.config().name] {
    const auto known = servers_.find(name);
    if (known == servers_.end()) return;
    known->second.since_ms = clock_.mono_ms();
    known->second.settled = false;
  });
}

}  // namespace agentd::runtime
