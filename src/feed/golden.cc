#include "feed/golden.h"

#include "base/check.h"
#include "base/time_text.h"
#include "feed/bundle.h"
#include "feed/feed.h"

namespace agentd::feed {
namespace {

constexpr std::int64_t kNow = 1'770'000'000'000;  // 2026-02-02T02:40:00Z
constexpr Count kNowMs = static_cast<Count>(kNow);
constexpr char kAlice[] = "user:alice";
constexpr char kContext[] = "ctx-5d0c";
constexpr char kTask[] = "task-81f2";
constexpr char kRun[] = "run-3c77";

// A feed with a clock that stands still, and the frames that came out of it.
class Stage {
 public:
  template <Payload P>
  void show(const std::string& name, const Visibility& visibility, const P& payload) {
    const std::uint64_t seq = feed_.push(visibility, payload);
    const auto frames = reader_.peek(std::size_t{1} << 20U).frames;
    AGENTD_CHECK(frames.size() == 1, "each golden payload is one frame");
    last_ = frames.front();
    add("event-" + name, last_->text);
    reader_.advance(seq);
  }

  void add(std::string name, std::string text) { frames_.emplace_back(std::move(name), std::move(text)); }

  [[nodiscard]] std::string last_without_annotations() const {
    const auto pieces = last_->pieces(false);
    return std::string(pieces[0]) + std::string(pieces[1]);
  }
  [[nodiscard]] Subscription subscribe(std::uint64_t from_seq) const {
    return {feed_, {.viewer = {.is_operator = true, .principal = "user:operator"}}, from_seq};
  }
  [[nodiscard]] const Subscription& reader() const { return reader_; }
  std::vector<std::pair<std::string, std::string>> take() { return std::move(frames_); }

 private:
  ManualClock clock_{kNow};
  Feed feed_{{.ring_events = 8, .introspection = true, .version = "0.1.0"},
             first_seq(0, kNow),
             [](std::uint64_t) { return agentd::Status(); },
             clock_};
  Subscription reader_ = subscribe(0);
  FramePtr last_;
  std::vector<std::pair<std::string, std::string>> frames_;
};

Json ask() {
  return {{"messageId", "msg-1"},
          {"contextId", kContext},
          {"taskId", kTask},
          {"role", "ROLE_USER"},
          {"parts", Json::array({{{"text", "Deploy 1.4 to staging?"}, {"mediaType", "text/plain"}},
                                 {{"raw", "aGVsbG8="}, {"filename", "hello.txt"}, {"mediaType", "text/plain"}},
                                 {{"url", "https://example.com/diff"}, {"metadata", {{"lines", 12}}}},
                                 {{"data", {{"version", "1.4"}, {"ratio", 0.5}, {"notes", nullptr}}}}})},
          {"metadata", {{"client", "cli"}}},
          {"extensions", Json::array({"https://agentd.dev/a2a/ext/command"})},
          {"referenceTaskIds", Json::array({"task-80aa"})}};
}

Json answer() {
  return {{"messageId", "msg-2"},
          {"contextId", kContext},
          {"taskId", kTask},
          {"role", "ROLE_AGENT"},
          {"parts", Json::array({{{"text", "May I deploy?"}}})}};
}

Task whole_task() {
  Task out;
  out.task = {{"id", kTask},
              {"contextId", kContext},
              {"status", {{"state", "TASK_STATE_INPUT_REQUIRED"}, {"message", answer()}, {"timestamp", rfc3339(kNow)}}},
              {"artifacts", Json::array({{{"artifactId", std::string(kTask) + ".plan"},
                                          {"name", "plan"},
                                          {"description", "What would be done"},
                                          {"parts", Json::array({{{"data", Json::array({"build", "push"})}}})},
                                          {"metadata", {{"steps", 2}}},
                                          {"extensions", Json::array({"https://example.com/ext/plan"})}}})},
              {"history", Json::array({ask(), answer()})}};
  out.annotations = {{"link", {{"kind", "run"}, {"id", kRun}}},
                     {"created", rfc3339(kNow - 5000)},
                     {"statusHistory", Json::array({{{"state", "TASK_STATE_SUBMITTED"}, {"ts", rfc3339(kNow - 5000)}},
                                                    {{"state", "TASK_STATE_INPUT_REQUIRED"}, {"ts", rfc3339(kNow)}}})},
                     {"principal", kAlice},
                     {"askSchema", {{"type", "object"}, {"required", Json::array({"approve"})}}},
                     {"askChannel", "@channel/deploys"},
                     {"command", "workflow.run"}};
  return out;
}

// An artifact past the limit of the feed goes without its parts.
Task big_task() {
  Task out;
  out.task = {{"id", "task-82b0"},
              {"status", {{"state", "TASK_STATE_COMPLETED"}}},
              {"artifacts", Json::array({{{"artifactId", "task-82b0.result"},
                                          {"name", "report"},
                                          {"parts", Json::array({{{"text", std::string(300'000, '.')}}})}}})},
              {"metadata", {{"https://example.com/ext/cost", {{"cents", 3}}}}}};
  return out;
}

Run run_of(std::string status) {
  return {.id = kRun,
          .workflow = "deploy",
          .status = std::move(status),
          .start = "message",
          .steps = {{"completed", 1}, {"running", 1}},
          .tokens = 412,
          .created = kNowMs - 5000,
          .updated = kNowMs,
          .finished = {},
          .output = nullptr,
          .error = {},
          .task = kTask,
          .principal = kAlice};
}

void show_tasks_and_runs(Stage& stage) {
  const Visibility alice = Visibility::owner(kAlice);
  stage.show("task", alice, whole_task());
  stage.add("event-task-unannotated", stage.last_without_annotations());
  stage.show("task-by-reference", alice, big_task());
  stage.show("task.removed", alice, TaskRemoved{kTask});
  stage.show("run", alice, run_of("running"));
  Run finished = run_of("completed");
  finished.steps = {{"completed", 2}};
  finished.finished = kNowMs;
  finished.output = {{"url", "https://staging.example.com"}};
  stage.show("run-finished", alice, finished);
  Run failed = run_of("failed");
  failed.finished = kNowMs;
  failed.error = "push: exit code 1";
  failed.task = failed.principal = std::nullopt;
  stage.show("run-failed", Visibility::operators(), failed);
  stage.show("run.removed", alice, RunRemoved{kRun});
  const Visibility operators = Visibility::operators();
  stage.show("step-start", operators, StepStart{.run = kRun, .step = "push", .kind = "exec", .attempt = 1});
  stage.show("step-done", operators,
             StepDone{.run = kRun, .step = "push", .status = "done", .attempt = 2, .tokens = 180, .err = {}});
  stage.show(
      "step-failed", operators,
      StepDone{.run = kRun, .step = "push", .status = "failed", .attempt = 1, .tokens = 0, .err = "exit code 1"});
}

void show_conversations(Stage& stage) {
  const Visibility alice = Visibility::owner(kAlice);
  const Visibility operators = Visibility::operators();
  Conversation talk{.id = kContext,
                    .context_id = kContext,
                    .kind = "a2a",
                    .version = 7,
                    .messages = 6,
                    .est_tokens = 1900,
                    .turns = 3,
                    .principal = kAlice,
                    .skills = {"deploys"},
                    .plan = "1. build\n2. push",
                    .updated = kNowMs};
  stage.show("conversation", alice, talk);
  talk.id = talk.context_id = talk.kind = "root";
  talk.principal = talk.plan = std::nullopt;
  talk.skills.clear();
  stage.show("conversation-root", operators, talk);
  stage.show("conversation.removed", alice, ConversationRemoved{kContext});
}

void show_workers(Stage& stage) {
  const Visibility alice = Visibility::owner(kAlice);
  const Visibility operators = Visibility::operators();
  Subagent agent{
      .handle = "researcher-1", .mode = "detached", .status = "running", .tokens = 77, .error = {}, .updated = kNowMs};
  stage.show("subagent", operators, agent);
  agent.status = "failed";
  agent.error = "model unavailable";
  stage.show("subagent-failed", operators, agent);
  stage.show("subagent.removed", operators, SubagentRemoved{agent.handle});
  stage.show(
      "child", operators,
      Child{.node = 12, .pid = 4711, .kind = "step:run-3c77/push", .age_ms = 35, .tokens = 0, .cancelled = false});
  stage.show("child.removed", operators, ChildRemoved{"12"});
  Activity activity{.id = "act-9",
                    .task = kTask,
                    .ctx = kContext,
                    .phase = "tool",
                    .tool = "files.read",
                    .round = 2,
                    .tokens_in = 900,
                    .tokens_out = 120,
                    .started_ms = kNowMs - 900,
                    .updated_ms = kNowMs};
  stage.show("activity", alice, activity);
  activity.phase = "thinking";
  activity.task = activity.ctx = activity.tool = std::nullopt;
  stage.show("activity-thinking", operators, activity);
  stage.show("activity.removed", alice, ActivityRemoved{activity.id});
}

void show_auth(Stage& stage) {
  const Visibility operators = Visibility::operators();
  Auth auth{.event = "pending",
            .client_id = "agentd-cli",
            .scope = "user",
            .user_code = "BDWP-HQPK",
            .peer = "192.0.2.7",
            .sid = {},
            .name = {}};
  stage.show("auth-pending", operators, auth);
  auth.event = "approved";
  auth.name = "alice";
  stage.show("auth-approved", operators, auth);
  auth.event = "denied";
  auth.name = auth.peer = std::nullopt;
  stage.show("auth-denied", operators, auth);
  auth.event = "revoked";
  auth.user_code = std::nullopt;
  auth.sid = "s-41c9";
  auth.name = "alice";
  stage.show("auth-revoked", operators, auth);
  auth.event = "launch";
  auth.scope = "operator";
  auth.name = std::nullopt;
  stage.show("auth-launch", operators, auth);
}

void show_instance(Stage& stage) {
  const Visibility operators = Visibility::operators();
  stage.show("status", operators,
             Status{.instance = "build-agent",
                    .model = "example-model",
                    .version = "0.1.0",
                    .draining = false,
                    .inbox_pending = 1,
                    .counters = {{"tasks", 12}, {"runs", 4}},
                    .budget = {{"tokens", {{"used", 51'200}, {"limit", 1'000'000}}}},
                    .store_kind = "sqlite",
                    .store_degraded = false,
                    .values = {{"channel", "stable"}},
                    .skill_prefix = "skills/"});
  stage.show("lifecycle-draining", Visibility::all(), Draining{"SIGTERM"});
  stage.show("lifecycle-paused", Visibility::all(), Paused{"maintenance"});
  stage.show("lifecycle-resumed", Visibility::all(), Resumed{});
  stage.show("config", Visibility::all(), Config{.paths = {"a2a.events.ring"}, .source = "reload"});
  stage.show("config-set", Visibility::all(), Config{.paths = {"model.name"}, .source = "admin.set"});
  Audit audit{.ts = kNowMs,
              .principal = kAlice,
              .role = "user",
              .action = "workflow.run",
              .target = {{"workflow", "deploy"}},
              .outcome = "ok",
              .sid = "s-41c9"};
  stage.show("audit", operators, audit);
  audit.principal = audit.role = audit.sid = std::nullopt;
  audit.action = "authenticate";
  audit.target = {{"source", "192.0.2.7"}};
  audit.outcome = "UNAUTHENTICATED";
  stage.show("audit-refused", operators, audit);
  show_auth(stage);
}

}  // namespace

const std::vector<std::pair<std::string, std::string>>& golden_frames() {
  static const auto frames = [] {
    Stage stage;
    stage.add("hello", stage.reader().hello());
    show_tasks_and_runs(stage);
    show_conversations(stage);
    show_workers(stage);
    show_instance(stage);
    stage.add("hello-resync", stage.subscribe(1).hello());
    stage.add("goodbye-deadline", stage.reader().goodbye("deadline"));
    stage.add("goodbye-revoked", stage.reader().goodbye("revoked"));
    return stage.take();
  }();
  return frames;
}

}  // namespace agentd::feed
