#include "command/reads.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "feed/payload_json.h"
#include "runtime/transcript.h"

namespace agentd::command {
namespace {

constexpr std::size_t kNewestRuns = 500;
constexpr std::size_t kOutputBytes = 2'048;
constexpr std::size_t kTextBytes = 4'096;
constexpr std::size_t kMessages = 200;
constexpr std::size_t kMostMessages = 1'000;
constexpr std::size_t kMessageBytes = 16U << 20U;  // read for one answer
constexpr std::size_t kLines = 200;

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json short_run(const runtime::RunFacts& facts) {
  return {{"run", facts.id},
          {"workflow", facts.workflow},
          {"status", workflow::to_string(facts.status)},
          {"output", facts.output},
          {"error", or_null(facts.error)}};
}

std::unexpected<Error> no_such_subagent() {
  return fail(Code::kTaskNotFound, "there is no such subagent, or it is not yours");
}

// An output as it is, or the beginning of its text when that is long.
Json cut_output(const Json& output) {
  const std::string text = output.is_string() ? output.get<std::string>() : dump_json(output);
  return text.size() <= kOutputBytes ? output : Json(cut_text(text, kOutputBytes));
}

// A state as the store has it, as it is shown.
Json step_document(const Json& state) {
  const auto time = [&](const char* key) { return state.value(key, 0) == 0 ? Json() : state[key]; };
  return {{"status", state.value("status", "pending")},
          {"attempt", state.value("attempt", 0)},
          {"started", time("started")},
          {"finished", time("finished")},
          {"error", or_null(state.value("error", ""))},
          {"wait", nullptr},
          {"output", cut_output(state.value("output", Json()))}};
}

void cut_strings(Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() > kTextBytes) value = cut_text(text, kTextBytes);
  } else if (value.is_structured()) {
    for (Json& member : value) cut_strings(member);
  }
}

// The newest messages, and the newest summary among all that were read. On the store's thread.
void add_rows(Json& document, const std::vector<store::MessageRow>& rows, std::size_t limit) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Json message = Json::parse(rows[i].body, nullptr, false);
    if (!message.is_object()) continue;
    if (const auto summary = runtime::summary_in(message)) document["summary"] = cut_text(*summary, kTextBytes);
    if (rows.size() - i > limit) continue;
    cut_strings(message);
    document["messages"].push_back(std::move(message));
  }
}

// Of the turn that works in it.
Json task_of(const runtime::Turns& turns, const runtime::Conversation& conversation) {
  for (const auto& [owner, activity] : turns.activities()) {
    if (owner == conversation.principal && activity.ctx == conversation.context && activity.task) return *activity.task;
  }
  return nullptr;
}

// By its id, or by the viewer's own name for it.
const runtime::Conversation* find_conversation(const runtime::Conversations& conversations, const feed::Viewer& viewer,
                                               const std::string& id) {
  const auto at = conversations.all().find(id);
  if (at != conversations.all().end() && feed::may_see(viewer, feed::Visibility::owner(at->second.principal))) {
    return &at->second;
  }
  return conversations.find(viewer.principal, id);
}

}  // namespace

Result<Json> workflow_status(const runtime::Runs& runs, const feed::Viewer& viewer, const Json& args) {
  Json out = Json::array();
  if (args.contains("run")) {
    const auto run = runs.find(viewer, args["run"], false);
    if (!run) return std::unexpected(run.error());
    out.push_back(short_run(run->facts));
  } else {
    runs.newest(viewer, kNewestRuns, [&out](const runtime::RunFacts& facts) { out.push_back(short_run(facts)); });
  }
  return Json{{"runs", std::move(out)}};
}

Result<Json> subagent_status(const runtime::Subagents& subagents, const feed::Viewer& viewer, const Json& args) {
  const runtime::SubagentFacts* known = subagents.find(viewer, args["handle"]);
  if (known == nullptr) return no_such_subagent();
  Json out = {{"handle", known->handle}, {"status", known->status}, {"mode", known->mode}};
  if (!known->result.empty()) out["result"] = known->result;
  if (!known->error.empty()) out["error"] = known->error;
  return out;
}

Result<Json> subagent_document(const runtime::Subagents& subagents, const feed::Viewer& viewer, const Json& args) {
  const runtime::SubagentFacts* known = subagents.find(viewer, args["handle"]);
  if (known == nullptr) return no_such_subagent();
  return Json{{"subagent",
               {{"handle", known->handle},
                {"mode", known->mode},
                {"status", known->status},
                {"attempt", 1},
                {"tokens", known->tokens},
                {"instruction", cut_text(known->instruction, kTextBytes)},
                {"result", or_null(cut_text(known->result, kTextBytes))},
                {"error", or_null(known->error)},
                {"requested_by", known->parent.empty() ? known->context : known->parent},
                {"created", known->created_ms},
                {"updated", known->updated_ms},
                {"node", known->node}}}};
}

Result<Json> run_document(const runtime::Runs& runs, const feed::Viewer& viewer, const Json& args) {
  const auto run = runs.find(viewer, args["run"], true);
  if (!run) return std::unexpected(run.error());
  std::string summary;
  feed::append_data(summary, runtime::payload(run->facts));
  Json out = Json::parse(summary);
  out["output"] = cut_output(run->facts.output);
  out["steps"] = Json::object();
  for (const auto& [id, state] : run->steps) out["steps"][id] = step_document(state);
  out["vars"] = Json::object();
  return Json{{"run", std::move(out)}};
}

void read_conversation(runtime::Journal& journal, const runtime::Conversations& conversations,
                       const runtime::Turns& turns, const feed::Viewer& viewer, const Json& args,
                       std::move_only_function<void(Result<Json>)> reply) {
  const runtime::Conversation* found = find_conversation(conversations, viewer, args["id"]);
  if (found == nullptr) {
    return reply(fail(Code::kTaskNotFound, "there is no such conversation, or it is not yours"));
  }
  const feed::Conversation shown = runtime::Conversations::payload(*found);
  Json out = {{"id", shown.id},
              {"kind", shown.kind},
              {"version", shown.version},
              {"turns", shown.turns},
              {"est_tokens", shown.est_tokens},
              {"principal", shown.principal ? Json(*shown.principal) : Json()},
              {"task", task_of(turns, *found)},
              {"skills", shown.skills},
              {"plan", nullptr},
              {"summary", nullptr},
              {"total_messages", shown.messages},
              {"updated", shown.updated}};
  auto read = std::make_shared<Status>();
  out["messages"] = Json::array();
  auto document = std::make_shared<Json>(std::move(out));
  const std::size_t limit = args.value("limit", kMessages);
  journal.read(
      [read, document, id = shown.id, limit](const store::Store& store) {
        const auto rows = store.messages(id, kMostMessages, kMessageBytes);
        *read = rows ? Status{} : std::unexpected(rows.error());
        if (rows) add_rows(*document, *rows, limit);
      },
      [read, document, reply = std::move(reply)]() mutable {
        if (!*read) return reply(std::unexpected(read->error()));
        reply(Json{{"conversation", std::move(*document)}});
      });
}

Json log_document(const Json& args) {
  const std::uint64_t after = args.value("after", std::uint64_t{0});
  const std::string level = args.value("level", "debug");
  const auto recent = log::recent(after, args.value("limit", kLines),
                                  level == "error"  ? log::Level::kError
                                  : level == "warn" ? log::Level::kWarn
                                  : level == "info" ? log::Level::kInfo
                                                    : log::Level::kDebug,
                                  args.value("prefix", ""));
  Json events = Json::array();
  for (const log::Line& line : recent.lines) {
    Json event = line.text;
    event["seq"] = line.seq;
    events.push_back(std::move(event));
  }
  return {{"events", std::move(events)},
          {"newest_seq", recent.newest},
          {"oldest_seq", recent.oldest},
          {"dropped", recent.oldest > after + 1 ? recent.oldest - after - 1 : 0}};
}

}  // namespace agentd::command
