#include "daemon/core.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace agentd::daemon {
namespace {

constexpr std::int64_t kDrainPollMs = 20;
constexpr std::int64_t kOperatorPatienceMs = 600'000;
constexpr std::int64_t kTidyMs = 60'000;
constexpr std::int64_t kKeyLifeMs = 24LL * 3600 * 1000;

process::ChildLimits limits_of(const config::Snapshot& config) {
  return {.memory = config.children.memory, .processes = config.children.processes, .cpu = config.children.cpu};
}

}  // namespace

Core::Core(net::Loop& loop, const Setup& setup, store::Store& store, feed::Feed& feed, access::Sessions& sessions,
           const Clock& clock, const std::string& url, std::function<bool(const std::string&)> is_attended)
    : loop_(loop),
      clock_(clock),
      journal_(loop, store),
      audit_(journal_, feed, clock, setup.config.store.audit),
      settings_(setup.config, feed),
      instance_(loop, feed, journal_, clock, setup.config.agent.name, config::name_of(setup.config.agent.model)),
      tasks_(journal_, feed, clock, setup.config.store.tasks),
      conversations_(journal_, feed, clock, setup.config.store.conversations),
      processes_(loop, limits_of(setup.config)),
      children_(feed, clock),
      runs_(processes_, children_, journal_, feed, clock, tasks_, instance_, setup.workflows, setup.config.store.runs),
      client_(loop),
      mcp_(loop, clock, processes_, children_, client_, instance_, url + std::string(runtime::kSignInCallback)),
      peers_(loop, clock, client_),
      skills_(loop, conversations_, setup.skills),
      tools_(loop),
      budgets_(settings_, clock, instance_),
      subagents_({.loop = loop,
                  .feed = feed,
                  .clock = clock,
                  .processes = processes_,
                  .children = children_,
                  .instance = instance_,
                  .tools = tools_,
                  .budgets = budgets_,
                  .settings = settings_,
                  .model = [this] { return turns_.chat_model(); }}),
      turns_({.loop = loop,
              .feed = feed,
              .clock = clock,
              .journal = journal_,
              .tasks = tasks_,
              .conversations = conversations_,
              .runs = runs_,
              .instance = instance_},
             {.tools = tools_, .budgets = budgets_, .settings = settings_, .is_attended = std::move(is_attended)},
             mind_of(setup)),
      service_(journal_, clock, tasks_, conversations_, turns_, runs_, instance_, audit_),
      sign_in_(loop, journal_, feed, clock, sessions, setup.config, audit_),
      commands_({.service = service_,
                 .journal = journal_,
                 .feed = feed,
                 .instance = instance_,
                 .runs = runs_,
                 .children = children_,
                 .conversations = conversations_,
                 .turns = turns_,
                 .subagents = subagents_,
                 .tools = tools_,
                 .skills = skills_,
                 .sign_in = sign_in_,
                 .settings = settings_,
                 .with_seq = setup.config.a2a.events.enabled,
                 .drain = [this](const std::string& reason) { drain_when_told(reason); }}),
      draining_(loop),
      tidying_(loop) {
  tools_.add(skills_);
  tools_.add(mcp_);
  tools_.add(peers_);
  tools_.add(subagents_);
  conversations_.on_retention([this](const runtime::Conversation& known) { return turns_.is_in(known); });
  conversations_.on_dropped(
      [this](const runtime::Conversation& gone) { subagents_.forget(gone.principal, gone.context); });
  turns_.on_cancelled([this](const std::string& task) { subagents_.cancel_task(task); });
  journal_.on_refusing([this] { instance_.changed(); });
}

Status Core::load() {
  if (Status status = instance_.load(); !status) return status;
  budgets_.load();
  if (Status status = tasks_.load(); !status) return status;
  if (Status status = conversations_.load(); !status) return status;
  if (Status status = sign_in_.load(); !status) return status;
  return runs_.load();
}

runtime::Mind Core::mind_of(const Setup& setup) {
  const config::Model& model = setup.config.agent.model;
  if (model.provider == config::Provider::kScripted) return setup.model;
  return std::make_shared<llm::RemoteModel>(loop_, client_, clock_, model);
}

void Core::start() {
  mcp_.set_servers(settings_.now().mcp.servers);
  peers_.set_peers(settings_.now().a2a.peers);
  runs_.resume();
  for (const std::string& id : tasks_.live()) {
    if (runtime::Task* task = tasks_.working(id)) turns_.resume(*task);
  }
  tidy();
}

void Core::adopt(Setup setup, const std::vector<std::string>& paths) {
  const config::Snapshot& config = setup.config;
  tasks_.set_retention(config.store.tasks);
  conversations_.set_retention(config.store.conversations);
  runs_.set_retention(config.store.runs);
  audit_.set_retention(config.store.audit);
  runs_.set_workflows(setup.workflows);
  turns_.set_mind(mind_of(setup));
  skills_.replace(std::move(setup.skills));
  mcp_.set_servers(config.mcp.servers);
  peers_.set_peers(config.a2a.peers);

  sign_in_.set_rules(config.a2a.principals);
  instance_.rename(config.agent.name, config::name_of(config.agent.model));
  settings_.reload(std::move(setup.config), paths);
  tools_.refresh();
  tidy();
}

// What goes with time alone, and not with the next change.
void Core::tidy() {
  tasks_.enforce_retention();
  runs_.enforce_retention();
  conversations_.enforce_retention();
  audit_.enforce_retention();
  journal_.put(store::DropIdempotencyBefore{.created_ms = clock_.wall_ms() - kKeyLifeMs});
  tidying_.arm(kTidyMs, [this] { tidy(); });
}

void Core::drain(const std::string& reason, std::int64_t patience_ms) {
  const std::int64_t give_up_ms = clock_.mono_ms() + patience_ms;
  if (draining_.armed()) {
    // Asked again: a signal hurries what an operator had begun, and a second one ends the waiting.
    give_up_ms_ = std::exchange(hurried_, true) ? 0 : std::min(give_up_ms_, give_up_ms);
    return;
  }
  if (instance_.draining()) return;
  hurried_ = patience_ms < kOperatorPatienceMs;
  give_up_ms_ = give_up_ms;
  instance_.drain(reason);
  log::info("draining", {{"reason", reason}, {"runs", runs_.live()}, {"turns", turns_.live()}});
  wait_for_work();
}

// The operator hears of it first, and then no more.
void Core::drain_when_told(const std::string& reason) {
  journal_.once_durable([this, reason] { loop_.post([this, reason] { drain(reason, kOperatorPatienceMs); }); });
}

void Core::wait_for_work() {
  // What is held back by a pause would never end.
  const std::size_t left = (instance_.paused() ? runs_.steps_at_work() : runs_.live()) + turns_.live();
  if (left > 0 && clock_.mono_ms() < give_up_ms_) return draining_.arm(kDrainPollMs, [this] { wait_for_work(); });
  if (left > 0) log::warn("stopping with work unfinished; the next start goes on with it", {{"left", left}});
  drained_();
}

void Core::stop() {
  runs_.stop();
  subagents_.stop();  // first, so that nothing of them is ended turn by turn
  turns_.stop();
  mcp_.stop();
  peers_.stop();
  journal_.flush_now();
}

}  // namespace agentd::daemon
