#include "daemon/daemon.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include "access/limits.h"
#include "access/live_access.h"
#include "base/current.h"
#include "base/log.h"
#include "base/quota.h"
#include "base/version.h"
#include "command/declared_ops.h"
#include "daemon/control_sockets.h"
#include "daemon/core.h"
#include "daemon/edge.h"
#include "daemon/public_pages.h"
#include "daemon/reload.h"
#include "net/listener.h"

namespace agentd::daemon {
namespace {

constexpr int kCannotServe = 1;
constexpr int kBadConfiguration = 2;
constexpr std::int64_t kDrainPatienceMs = 3'000;
constexpr std::int64_t kCloseGraceMs = 1'000;
constexpr unsigned kMostEdges = 4;         // by default
constexpr rlim_t kOtherDescriptors = 256;  // beside those of connections

void print_faults(const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) fmt::print(stderr, "{}\n", to_string(fault));
}

int cannot_serve(const std::string& why) {
  fmt::print(stderr, "agentd: {}\n", why);
  return kCannotServe;
}

void configure_log(const config::Snapshot& config) {
  log::redact_with(Redactor(config::secrets_of(config)));
  const std::string& level = config.log.level;
  const std::string& format = config.log.format;
  log::configure(level == "debug"   ? log::Level::kDebug
                 : level == "warn"  ? log::Level::kWarn
                 : level == "error" ? log::Level::kError
                                    : log::Level::kInfo,
                 format == "json"   ? log::Format::kJson
                 : format == "text" ? log::Format::kText
                                    : log::Format::kAuto);
}

std::string without_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

// The path of a URL without its last slash.
std::string path_of(const std::string& url) {
  const std::size_t host = url.find("://");
  const std::size_t slash = host == std::string::npos ? host : url.find('/', host + 3);
  std::string path = slash == std::string::npos ? "" : url.substr(slash);
  while (path.ends_with('/')) path.pop_back();
  return path;
}

a2a::CardFacts card_facts(const Setup& setup, const std::string& url) {
  a2a::CardFacts facts{.name = setup.config.agent.name,
                       .description = setup.config.agent.description,
                       .version = kVersion,
                       .url = url,
                       .ops = command::ops_json()};
  facts.bearer = setup.config.a2a.bearer.has_value() || setup.config.a2a.device_grant.enabled;
  for (const auto& rule : setup.config.a2a.principals) facts.bearer = facts.bearer || rule.bearer.has_value();
  facts.skills.push_back({.id = "chat", .name = "Chat", .description = "Answers messages."});
  for (const auto& workflow : setup.workflows) {
    facts.skills.push_back({.id = "workflow." + workflow->name,
                            .name = workflow->name,
                            .description = workflow->description.empty() ? "A workflow." : workflow->description});
  }
  facts.declared.add(a2a::Extension::kCommand);
  facts.declared.add(a2a::Extension::kTaskAnnotations);
  if (setup.config.a2a.events.enabled) facts.declared.add(a2a::Extension::kEvents);
  return facts;
}

Result<std::unique_ptr<store::Store>> open_store(const config::Snapshot& config) {
  if (config.store.kind == "memory") return store::make_memory();
  return store::open_sqlite(config.store.path);
}

Result<std::vector<std::unique_ptr<net::Listener>>> open_listeners(const config::Snapshot& config, const Clock& clock) {
  std::shared_ptr<net::TlsContext> tls;
  if (has_https(config)) {
    auto loaded = net::TlsContext::load(tls_files(config), clock);
    if (!loaded) return std::unexpected(loaded.error());
    tls = *std::move(loaded);
  }
  std::vector<std::unique_ptr<net::Listener>> out;
  for (const std::string& url : config.a2a.listen) {
    auto listener = net::Listener::open(url, tls);
    if (!listener) return std::unexpected(listener.error());
    out.push_back(std::move(*listener));
  }
  return out;
}

std::vector<std::string> urls_of(const std::vector<std::unique_ptr<net::Listener>>& listeners) {
  std::vector<std::string> out;
  for (const auto& listener : listeners) out.push_back(listener->url());
  return out;
}

// What the agent card names: a client elsewhere can do nothing with the path of a socket.
std::string card_url(const config::Snapshot& config, const std::vector<std::unique_ptr<net::Listener>>& listeners) {
  if (!config.a2a.url.empty()) return config.a2a.url;
  for (const auto& listener : listeners) {
    if (!listener->url().starts_with("unix:")) return listener->url() + "/";
  }
  return "http://localhost/";
}

// Which may be fewer than the machine has: hardware_concurrency() does not ask.
unsigned usable_processors() {
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) return std::thread::hardware_concurrency();
  return static_cast<unsigned>(CPU_COUNT(&usable));
}

// As many as this process may have descriptors for, which it asks the system for first: the usual 1,024 are an old
// default for programs that use select(). The children, whose nursery is there by now, keep that.
std::size_t connection_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return http::ServerLimits().connections;
  const rlimit most{.rlim_cur = files.rlim_max, .rlim_max = files.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &most) == 0) files = most;
  const rlim_t left = files.rlim_cur > 2 * kOtherDescriptors ? files.rlim_cur - kOtherDescriptors : files.rlim_cur / 2;
  return std::min<std::size_t>(left, http::ServerLimits().connections);
}

feed::Options feed_options(const config::Snapshot& config) {
  return {.ring_events = config.a2a.events.ring,
          .ring_bytes = config.a2a.events.ring_bytes,
          .introspection = config.a2a.introspection,
          .version = kVersion};
}

// One life of the daemon: what is connected to what, in the order in which it is made. The loop comes before the store,
// whose last answers are posted to it; the edge comes last, and so is gone before what it asks.
class Life final {
 public:
  Life(const Setup& setup, EdgeOptions edges, std::unique_ptr<store::Store> store, std::uint64_t reserved,
       const std::string& url, std::vector<std::string> origins)
      : config_(setup.config),
        store_(std::move(store)),
        feed_(
            feed_options(config_), feed::first_seq(reserved, clock_.wall_ms()),
            [this](std::uint64_t end) { return store_->commit_now({store::ReserveSeq{end}}); }, clock_),
        core_(loop_, setup, *store_, feed_, sessions_, clock_, without_slash(url),
              [this](const std::string& principal) { return is_attended(principal); }),
        access_(std::make_shared<const access::Access>(config_, sessions_, clock_)),
        url_(url),
        facts_(card_facts(setup, url)),
        workflows_(setup.workflows),
        pages_(public_pages(*facts_.get())),
        oauth_(core_.sign_in(), core_.mcp(), core_.commands(), sessions_, config_.a2a.device_grant, clock_,
               without_slash(url), std::move(origins)),
        edges_(edges.count, clock_,
               {.core = loop_,
                .service = core_.service(),
                .commands = core_.commands(),
                .feed = feed_,
                .access = access_,
                .limits = limits_,
                .config = config_,
                .streams = streams_,
                .clock = clock_,
                .pages = pages_,
                .oauth = oauth_,
                .journal = core_.journal(),
                .audit = core_.audit(),
                .declared = facts_.get()->declared,
                .rpc_prefix = path_of(url),
                .extended_card = [this](const access::Caller& caller) { return extended_card(caller); }},
               {.connections = connection_limit(), .io_uring = edges.io_uring}),
        reload_(loop_, setup, core_.settings(), core_.audit(),
                [this](Setup next, const std::vector<std::string>& paths) { adopt(std::move(next), paths); }),
        signals_(loop_, {SIGTERM, SIGINT, SIGHUP},
                 [this](int number) { number == SIGHUP ? reload_.request() : drain(number); }) {
    feed_.on_push([this] {
      if (std::exchange(announced_, true)) return;
      // At the end of the turn, so that all that is pushed in one wakes an edge once.
      loop_.post([this] {
        announced_ = false;
        edges_.feed_moved();
      });
    });
    core_.on_drained([this] { edges_.shut_down(kCloseGraceMs, [this] { loop_.stop(); }); });
    core_.sign_in().on_ended([this] { edges_.callers_revoked(); });
  }

  [[nodiscard]] Status load() { return core_.load(); }

  void run(std::vector<std::unique_ptr<net::Listener>> listeners) {
    const std::vector<std::string> urls = urls_of(listeners);
    std::ranges::move(open_control_sockets(urls), std::back_inserter(listeners));
    loop_.post([this] {
      core_.start();
      reload_.start();
    });
    edges_.start(std::move(listeners));
    log::info("listening", {{"url", urls.front()},
                            {"urls", urls},
                            {"pid", ::getpid()},
                            {"version", kVersion},
                            {"store", store_->kind()},
                            {"config", config_.file.empty() ? "defaults" : config_.file}});
    loop_.run();
    core_.stop();
    // Nothing is pushed any more. Should this fail, the next life merely begins further on.
    static_cast<void>(store_->commit_now({store::ReleaseSeq{feed_.window().newest}}));
    log::info("stopped", edges_.losses().to_json());
  }

 private:
  // Callers first: nothing that is pushed from here on is for those who may not see it any more.
  void adopt(Setup next, const std::vector<std::string>& paths) {
    if (access_.replace(std::make_shared<const access::Access>(next.config, sessions_, clock_))) {
      edges_.callers_revoked();
    }
    a2a::CardFacts facts = card_facts(next, url_);
    pages_.replace(public_pages(facts));
    facts_.replace(std::move(facts));
    workflows_.replace(next.workflows);
    configure_log(next.config);
    core_.adopt(std::move(next), paths);
  }

  // By its owner, or an operator.
  [[nodiscard]] bool is_attended(const std::string& principal) const {
    return streams_.has([&](const std::string& who) { return who == principal || who == "operator"; });
  }

  void drain(int number) { core_.drain(number == SIGTERM ? "SIGTERM" : "SIGINT", kDrainPatienceMs); }

  [[nodiscard]] Json extended_card(const access::Caller& caller) const {
    a2a::CallerFacts seen{.ring = config_.a2a.events.ring,
                          .kinds = {},
                          .ops = command::ops_json(caller, {.sign_in = config_.a2a.device_grant.enabled,
                                                            .introspection = feed_.introspection()}),
                          .commands = command::declared_json(caller, *workflows_.get()),
                          .settable = command::settable_json(caller)};
    for (const std::string_view kind : feed::kinds_for(caller.viewer, feed_.introspection()).names()) {
      seen.kinds.emplace_back(kind);
    }
    return a2a::extended_card(*facts_.get(), seen);
  }

  const config::Snapshot& config_;  // as it was at the start, for what only a start takes up
  const SystemClock clock_;
  net::Loop loop_;
  const std::unique_ptr<store::Store> store_;
  feed::Feed feed_;
  access::Sessions sessions_;
  Core core_;
  access::LiveAccess access_;
  access::Limits limits_{clock_};
  const std::string url_;
  Current<a2a::CardFacts> facts_;
  Current<std::vector<std::shared_ptr<const workflow::Workflow>>> workflows_;
  Current<wire::Pages> pages_;
  wire::OAuth oauth_;
  Quota streams_;
  Edges edges_;
  bool announced_ = false;  // the edges will be told of the new events
  Reload reload_;
  const net::Signals signals_;
};

int run(const Setup& setup, EdgeOptions edges) {
  const config::Snapshot& config = setup.config;
  const SystemClock clock;
  auto listeners = open_listeners(config, clock);
  if (!listeners) return cannot_serve(listeners.error().message);
  auto store = open_store(config);
  if (!store) return cannot_serve(store.error().message);
  const auto reserved = (*store)->reserved_seq();
  if (!reserved) return cannot_serve(reserved.error().message);
  if (edges.count == 0) edges.count = std::clamp(usable_processors(), 1U, kMostEdges);
  Life life(setup, edges, std::move(*store), *reserved, card_url(config, *listeners),
            local_origins(urls_of(*listeners)));
  if (const Status loaded = life.load(); !loaded) return cannot_serve(loaded.error().message);
  if (config.a2a.insecure) {
    log::warn("a2a.insecure is set: what goes over an http:// address, tokens too, can be read on the way");
  }
  life.run(std::move(*listeners));
  return 0;
}

}  // namespace

int serve(const std::string& config_file, EdgeOptions edges) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on files is a full disk: writes fail, and the daemon lives
  auto setup = load_setup(config_file);
  if (!setup) {
    print_faults(setup.error());
    return kBadConfiguration;
  }
  configure_log(setup->config);
  return run(*setup, edges);
}

int check(const std::string& config_file, bool json) {
  const auto setup = load_setup(config_file);
  const std::vector<Fault> faults = setup ? std::vector<Fault>{} : setup.error();
  if (json) {
    fmt::print("{}\n", dump_json({{"ok", faults.empty()}, {"faults", config::faults_to_json(faults)}}));
  } else if (faults.empty()) {
    fmt::print("{}: no faults\n", config_file.empty() ? "embedded defaults" : config_file);
  } else {
    print_faults(faults);
    fmt::print(stderr, "{} fault{}\n", faults.size(), faults.size() == 1 ? "" : "s");
  }
  return faults.empty() ? 0 : kBadConfiguration;
}

int print_extension_schema(const std::string& name) {
  const std::string schema = extension_schema(name);
  if (schema.empty()) {
    fmt::print(stderr, "agentd: there is no extension {}; there are events, command and task-annotations\n",
               quote_json(name));
    return kBadConfiguration;
  }
  fmt::print("{}", schema);
  return 0;
}

}  // namespace agentd::daemon
