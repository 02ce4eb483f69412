#include "feed/payload_json.h"

#include "base/json_writer.h"
#include "feed/task_limits.h"

namespace agentd::feed {
namespace {

void append_removed(std::string& out, std::string_view id) {
  ObjectWriter data(out);
  data.text("id", id);
  data.close();
}

// At most `limit` characters (code points) of what a child process may have printed.
std::string first_characters(std::string_view bytes, std::size_t limit) {
  std::string text = to_utf8(bytes);
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts_character = (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U;
    if (starts_character && ++characters > limit) {
      text.resize(i);
      break;
    }
  }
  return text;
}

}  // namespace

void append_data(std::string& out, const Run& payload) {
  ObjectWriter data(out);
  data.text("id", payload.id).text("workflow", payload.workflow).text("status", payload.status);
  data.text("start", payload.start).counts("steps", payload.steps);
  data.count("tokens", payload.tokens).count("created", payload.created).count("updated", payload.updated);
  data.nullable("finished", payload.finished).json("output", payload.output);
  data.nullable("error", payload.error).nullable("task", payload.task).nullable("principal", payload.principal);
  data.close();
}

void append_data(std::string& out, const Conversation& payload) {
  ObjectWriter data(out);
  data.text("id", payload.id).text("contextId", payload.context_id).text("kind", payload.kind);
  data.count("version", payload.version).count("messages", payload.messages);
  data.count("est_tokens", payload.est_tokens).count("turns", payload.turns);
  data.nullable("principal", payload.principal).texts("skills", payload.skills);
  data.nullable("plan", payload.plan).count("updated", payload.updated);
  data.close();
}

void append_data(std::string& out, const Subagent& payload) {
  ObjectWriter data(out);
  data.text("handle", payload.handle).text("mode", payload.mode).text("status", payload.status);
  data.count("tokens", payload.tokens).nullable("error", payload.error).count("updated", payload.updated);
  data.close();
}

void append_data(std::string& out, const Child& payload) {
  ObjectWriter data(out);
  data.count("node", payload.node).count("pid", payload.pid).text("kind", payload.kind);
  data.count("age_ms", payload.age_ms).count("tokens", payload.tokens).flag("cancelled", payload.cancelled);
  data.close();
}

void append_data(std::string& out, const Activity& payload) {
  ObjectWriter data(out);
  data.text("id", payload.id).nullable("task", payload.task).nullable("ctx", payload.ctx);
  data.text("phase", payload.phase).nullable("tool", payload.tool).count("round", payload.round);
  data.count("tokens_in", payload.tokens_in).count("tokens_out", payload.tokens_out);
  data.count("started_ms", payload.started_ms).count("updated_ms", payload.updated_ms);
  data.close();
}

void append_data(std::string& out, const TaskRemoved& payload) { append_removed(out, payload.id); }
void append_data(std::string& out, const RunRemoved& payload) { append_removed(out, payload.id); }
void append_data(std::string& out, const ConversationRemoved& payload) { append_removed(out, payload.id); }
void append_data(std::string& out, const SubagentRemoved& payload) { append_removed(out, payload.id); }
void append_data(std::string& out, const ChildRemoved& payload) { append_removed(out, payload.id); }
void append_data(std::string& out, const ActivityRemoved& payload) { append_removed(out, payload.id); }

void append_data(std::string& out, const StepStart& payload) {
  ObjectWriter data(out);
  data.text("run", payload.run).text("step", payload.step).text("kind", payload.kind);
  data.text("phase", "start").count("attempt", payload.attempt);
  data.close();
}

void append_data(std::string& out, const StepDone& payload) {
  ObjectWriter data(out);
  data.text("run", payload.run).text("step", payload.step).text("phase", "done");
  data.text("status", payload.status).count("attempt", payload.attempt).count("tokens", payload.tokens);
  std::optional<std::string> err;
  if (payload.err.has_value()) err = first_characters(*payload.err, kErrCharacters);
  data.nullable("err", err);
  data.close();
}

void append_data(std::string& out, const Status& payload) {
  ObjectWriter data(out);
  data.text("instance", payload.instance).text("model", payload.model).text("version", payload.version);
  data.flag("draining", payload.draining).count("inbox_pending", payload.inbox_pending);
  data.json("counters", payload.counters).json("budget", payload.budget);
  data.key("store");
  ObjectWriter store(out);
  store.text("kind", payload.store_kind).flag("degraded", payload.store_degraded);
  store.close();
  data.json("values", payload.values).text("skill_prefix", payload.skill_prefix);
  data.close();
}

void append_data(std::string& out, const Draining& payload) {
  ObjectWriter data(out);
  data.flag("draining", true).text("reason", payload.reason);
  data.close();
}

void append_data(std::string& out, const Paused& payload) {
  ObjectWriter data(out);
  data.flag("paused", true).text("reason", payload.reason);
  data.close();
}

void append_data(std::string& out, const Resumed&) {
  ObjectWriter data(out);
  data.flag("paused", false);
  data.close();
}

void append_data(std::string& out, const Config& payload) {
  ObjectWriter data(out);
  data.texts("paths", payload.paths).text("source", payload.source);
  data.close();
}

void append_data(std::string& out, const Audit& payload) {
  ObjectWriter data(out);
  data.count("ts", payload.ts).nullable("principal", payload.principal).nullable("role", payload.role);
  data.text("action", payload.action).json("target", payload.target).text("outcome", payload.outcome);
  data.optional("sid", payload.sid);
  data.close();
}

void append_data(std::string& out, const Auth& payload) {
  ObjectWriter data(out);
  data.text("event", payload.event).text("client_id", payload.client_id).text("scope", payload.scope);
  data.optional("user_code", payload.user_code).optional("peer", payload.peer).optional("sid", payload.sid);
  data.optional("name", payload.name);
  data.close();
}

}  // namespace agentd::feed
