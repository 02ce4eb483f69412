// The core of one life put together without a transport, and what a person would have configured: for core_fixture.h.
// A Life is what one process of the daemon has in memory. Confined to the test's thread.
#pragma once

#include <expected>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"
#include "runtime/service.h"
#include "runtime/settings.h"
#include "runtime/sign_in.h"
#include "runtime/skills.h"
#include "runtime/subagents.h"

namespace agentd::runtime {

// What was written for a test; a fault in it ends the test and says what is wrong.
template <class T>
T faultless(std::expected<T, std::vector<Fault>> read) {
  if (!read) throw std::invalid_argument(to_string(read.error().front()));
  return std::move(*read);
}

// What a person would have configured.
struct Setting {
  std::string rules;                   // of the scripted model; "" = the built-in ones
  std::vector<std::string> workflows;  // their documents
  config::Snapshot config;
  config::Retention tasks{.keep_last = 100}, runs{.keep_last = 100}, conversations{.keep_last = 100};

  [[nodiscard]] llm::ScriptedModel model() const {
    return rules.empty() ? llm::ScriptedModel::built_in()
                         : faultless(llm::ScriptedModel::parse(faultless(parse_document(rules, "rules.yaml"))));
  }
  [[nodiscard]] std::vector<std::shared_ptr<const workflow::Workflow>> parsed() const {
    std::vector<std::shared_ptr<const workflow::Workflow>> out;
    for (const std::string& text : workflows) {
      out.push_back(std::make_shared<const workflow::Workflow>(
          faultless(workflow::parse(faultless(parse_document(text, "workflow.yaml"))))));
    }
    return out;
  }
};

struct Life {
  Life(net::Loop& loop, store::Store& store, const Clock& clock, const Setting& setting)
      : feed(
            {.ring_events = 4096, .version = "test"}, 1, [](std::uint64_t) { return Status{}; }, clock),
        journal(loop, store, /*retry_ms=*/5),
        audit(journal, feed, clock, setting.config.store.audit),
        settings(setting.config, feed),
        instance(loop, feed, journal, clock, "test", "scripted"),
        tasks(journal, feed, clock, setting.tasks),
        conversations(journal, feed, clock, setting.conversations),
        processes(loop),
        children(feed, clock),
        runs(processes, children, journal, feed, clock, tasks, instance, setting.parsed(), setting.runs),
        client(loop),
        skills(loop, conversations, {}),
        tools(loop),
        budgets(settings, clock, instance),
        subagents({.loop = loop,
                   .feed = feed,
                   .clock = clock,
                   .processes = processes,
                   .children = children,
                   .instance = instance,
                   .tools = tools,
                   .budgets = budgets,
                   .settings = settings,
                   .model = [this] { return turns.chat_model(); }}),
        turns({.loop = loop,
               .feed = feed,
               .clock = clock,
               .journal = journal,
               .tasks = tasks,
               .conversations = conversations,
               .runs = runs,
               .instance = instance},
              {.tools = tools,
               .budgets = budgets,
               .settings = settings,
               .is_attended = [this](const std::string&) { return attended; }},
              mind(loop, clock, setting)),
        service(journal, clock, tasks, conversations, turns, runs, instance, audit),
        sign_in(loop, journal, feed, clock, sessions, setting.config, audit) {}

  feed::Feed feed;
  Journal journal;
  Audit audit;
  Settings settings;
  Instance instance;
  Tasks tasks;
  Conversations conversations;
  process::Children processes;
  ChildList children;
  Runs runs;
  http::Client client;
  Skills skills;
  Tools tools;
  Budgets budgets;
  Subagents subagents;
  bool attended = true;  // somebody who may answer follows the feed
  Turns turns;
  Service service;
  access::Sessions sessions;
  SignIn sign_in;

 private:
  Mind mind(net::Loop& loop, const Clock& clock, const Setting& setting) {
    const config::Model& model = setting.config.agent.model;
    if (model.provider == config::Provider::kScripted) return setting.model();
    return std::make_shared<llm::RemoteModel>(loop, client, clock, model);
  }
};

}  // namespace agentd::runtime
