// Tools: everything that the model may use, whoever does it: MCP servers, subagents, peers, skills. Each kind is a source.
// Confined to the core thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/agent.h"
#include "llm/model.h"
#include "mcp/server.h"
#include "net/loop.h"

namespace agentd::runtime {

struct ToolFacts {
  llm::ToolSpec spec;
  bool read_only = false;      // it says that it changes nothing: it may be used again after a crash
  bool beside_others = false;  // it may be used while others of this kind are
  bool is_own = false;         // of the agent itself: nobody is asked about it
};

// Who uses it, and within what.
struct ToolRequest {
  std::string name, principal, context, task;
  std::string subagent = {};  // that uses it; "" = the turn itself
  Json arguments = Json::object();
};

struct ToolOutcome {
  std::string text;
  bool is_error = false;
  Json parts = Json::array();  // what is no text, as parts of an artifact
};

// What a tool asks a person while it works.
struct ToolQuestion {
  std::string id = {};  // among those of its use; "" = it is never withdrawn
  std::string message;
  Json schema;                  // of the answer, an object
  Json about = Json::object();  // for the metadata of the question
  // Called once, with {action: "accept", content}, {action: "decline"} or {action: "cancel"}.
  std::move_only_function<void(Json answer)> answer;
};

// Called on the loop, never within use().
struct ToolListener {
  // A person is asked; null: nobody can be.
  std::function<void(ToolQuestion)> elicit = nullptr;
  // How far it is, for a person to read. Null: nobody does.
  std::function<void(const std::string& text)> progress = nullptr;
  // The question of that id needs no answer any more. Null wherever `elicit` is.
  std::function<void(const std::string& id)> withdraw = nullptr;
  // What a model used on the way, and its price in dollars. Returns why no more may be used, if so. Null: nobody counts.
  std::function<std::optional<std::string>(const llm::Usage& usage, double usd)> spent = nullptr;
  std::move_only_function<void(ToolOutcome)> done;
};

// One use under way. Destroying it cancels it: nothing is called any more.
class ToolUse {
 public:
  virtual ~ToolUse() = default;
};

// Ids tell the calls of one answer apart: those that are there twice are made unique.
void make_ids_unique(std::vector<llm::ToolCall>& calls);

// Whether a use may begin while others are under way, all of them beside others or not, when `most` may be.
[[nodiscard]] bool may_begin(const ToolFacts& tool, std::size_t under_way, bool all_beside, std::uint64_t most);

// Whether a person is asked before the tool is used.
[[nodiscard]] bool must_be_asked(config::Approval approval, const ToolFacts& tool);

// Why the arguments do not fit the schema, for the model to read; "" when they do, or the schema cannot be checked here.
[[nodiscard]] std::string misfit_of(const Json& schema, const Json& arguments);

// Of a tool that is done as it begins: tells `outcome` on the next turn of the loop.
[[nodiscard]] std::unique_ptr<ToolUse> done_use(net::Loop& loop, ToolOutcome outcome, ToolListener listener);

class ToolSource {
 public:
  virtual ~ToolSource() = default;
  virtual void list(std::vector<ToolFacts>& out) const = 0;
  // Whether it may soon list more than now, because it has only begun.
  [[nodiscard]] virtual bool is_starting() const { return false; }
  // Whether it checks arguments itself; those of others are checked before use().
  [[nodiscard]] virtual bool checks_arguments() const { return false; }
  // Of a tool that it lists.
  [[nodiscard]] virtual std::unique_ptr<ToolUse> use(ToolRequest request, ToolListener listener) = 0;
  void on_changed(std::function<void()> changed) { changed_ = std::move(changed); }

 protected:
  // What it lists is another list from now on.
  void changed() { changed_(); }

 private:
  std::function<void()> changed_ = [] {};
};

class Tools final {
 public:
  explicit Tools(net::Loop& loop) : loop_(loop) {}

  void add(ToolSource& source);  // which outlives this
  // What is listed may be another list, for a reason that no source knows: the configuration, or the model.
  void refresh() { listed_ = nullptr; }

  // Whether a source may soon list more: a turn waits for it. Ends by itself within ten seconds of the start.
  [[nodiscard]] bool are_starting() const;
  // One of each name, in the order of the sources. Good until a source changes.
  [[nodiscard]] const std::vector<ToolFacts>& all() const { return listed().tools; }
  // Null when there is none of that name.
  [[nodiscard]] const ToolFacts* find(const std::string& name) const;
  // How many tokens their specs are, estimated.
  [[nodiscard]] std::uint64_t tokens() const { return listed().tokens; }
  // Null when there is no such tool (any more).
  [[nodiscard]] std::unique_ptr<ToolUse> use(ToolRequest request, ToolListener listener);

 private:
  // Made when somebody asks: a turn asks several times a round.
  struct Listed {
    std::vector<ToolFacts> tools;
    std::vector<ToolSource*> sources;  // of each
    std::unordered_map<std::string_view, std::size_t> by_name;
    std::uint64_t tokens = 0;
  };
  [[nodiscard]] const Listed& listed() const;

  net::Loop& loop_;
  std::vector<ToolSource*> sources_;
  mutable std::unique_ptr<const Listed> listed_;
};

}  // namespace agentd::runtime
