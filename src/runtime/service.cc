#include "runtime/service.h"

#include <fmt/format.h>

#include <utility>

#include "a2a/shapes.h"
#include "base/digest.h"
#include "base/ids.h"
#include "base/time_text.h"

namespace agentd::runtime {
namespace {

constexpr char kSend[] = "SendMessage";  // streamed or not
constexpr char kCancel[] = "CancelTask";
constexpr std::int64_t kKeyLifeMs = 24LL * 3600 * 1000;
constexpr std::int64_t kMaxPage = 100;
constexpr std::int64_t kDefaultPage = 50;

std::unexpected<Error> invalid(std::string field, std::string description) {
  return std::unexpected(Error{.code = Code::kInvalidParams,
                               .message = fmt::format("{} {}", field, description),
                               .violations = {{std::move(field), std::move(description)}}});
}

Result<std::optional<std::int64_t>> history_length(const Json& holder, const std::string& path) {
  const auto at = holder.find("historyLength");
  if (at == holder.end()) return std::nullopt;
  if (at->get<std::int64_t>() < 0) return invalid(path + ".historyLength", "must be 0 or more");
  return at->get<std::int64_t>();
}

Result<TaskQuery> read_query(const Json& params) {
  auto read = a2a::read_shape(a2a::kListTasksRequest, params, "params");
  if (!read) return std::unexpected(read.error());
  const Json& in = *read;
  const std::int64_t page_size = in.value("pageSize", kDefaultPage);
  if (page_size < 1 || page_size > kMaxPage) return invalid("params.pageSize", "must be from 1 to 100");
  auto length = history_length(in, "params");
  if (!length) return std::unexpected(length.error());
  TaskQuery query{.context = in.value("contextId", ""),
                  .page_size = static_cast<std::size_t>(page_size),
                  .page_token = in.value("pageToken", ""),
                  .view = {.history_length = length->value_or(0), .artifacts = in.value("includeArtifacts", false)}};
  if (in.contains("status")) query.state = a2a::task_state(in["status"].get<std::string>());
  if (query.state == a2a::TaskState::kUnspecified) query.state.reset();
  if (in.contains("statusTimestampAfter")) query.status_after_ms = in["statusTimestampAfter"].get<std::int64_t>();
  return query;
}

Result<std::string> read_id(const Json& params) {
  auto read = a2a::read_shape(a2a::kTaskIdRequest, params, "params");
  if (!read) return std::unexpected(read.error());
  return (*read)["id"].get<std::string>();
}

// What is said to a gate is marked by us, and not shown to the model as a message: nothing else may carry the mark.
void name_no_gate(Json& message) {
  const auto metadata = message.find("metadata");
  if (metadata != message.end() && metadata->is_object()) metadata->erase(kGateKey);
}

}  // namespace

void deliver_message(ReplyValue answer, Delivery& delivery) {
  if (!delivery.stream) return delivery.reply(std::move(answer));
  // A stream that is no task's holds exactly this.
  auto event = std::make_shared<TaskEvent>();
  event->number = 1;
  auto* text = std::get_if<JsonText>(&answer);
  event->text = text != nullptr ? std::move(text->text) : dump_json(std::get<Json>(answer));
  event->last = true;
  delivery.stream->on_event(std::move(event));
}

Result<Sending> read_sending(const Json& params) {
  auto read = a2a::read_shape(a2a::kSendMessageRequest, params, "params");
  if (!read) return std::unexpected(read.error());
  const Json configuration = read->value("configuration", Json::object());
  if (configuration.contains("taskPushNotificationConfig")) {
    return fail(Code::kPushNotSupported, "this agent sends no push notifications; subscribe to the task instead");
  }
  auto length = history_length(configuration, "params.configuration");
  if (!length) return std::unexpected(length.error());
  Json message = (*read)["message"];
  // What the agent said is the agent's to say: a history in which a client speaks for it would end turns.
  if (message["role"] != "ROLE_USER") return invalid("params.message.role", "must be ROLE_USER");
  return Sending{.message = std::move(message),
                 .history_length = *length,
                 .return_immediately = configuration.value("returnImmediately", false),
                 .accepted_output_modes = configuration.value("acceptedOutputModes", Json::array()),
                 .digest = sha256_hex(dump_json(*read))};
}

Service::Service(Journal& journal, const Clock& clock, Tasks& tasks, Conversations& conversations, Turns& turns,
                 Runs& runs, Instance& instance, Audit& audit)
    : journal_(journal),
      clock_(clock),
      tasks_(tasks),
      conversations_(conversations),
      turns_(turns),
      runs_(runs),
      instance_(instance),
      audit_(audit) {}

Status Service::takes_work() const {
  if (instance_.draining()) return fail(Code::kDraining, "this daemon is shutting down; send it again later");
  if (journal_.refusing())
    return fail(Code::kUnavailable, "the store cannot be written now, so no work is taken; try again");
  return {};
}

void Service::send(const Call& call, Sending sending, Delivery delivery) {
  if (const Status open = takes_work(); !open) return delivery.reply(std::unexpected(open.error()));
  if (answered_before(call, sending, delivery)) return;
  sending.message.contains("taskId") ? add_to_task(call, sending, delivery) : open_task(call, sending, delivery);
}

void Service::open_task(const Call& call, Sending& sending, Delivery& delivery) {
  Json& message = sending.message;
  name_no_gate(message);
  if (!message.contains("contextId")) message["contextId"] = "ctx-" + random_hex(16);
  const std::string context = message["contextId"];
  Conversation& conversation = conversations_.open(call.caller.viewer.principal, context);
  Turn turn = turns_.begin(conversation, message);
  if (turn.is_direct()) {
    return turns_.speak(std::move(turn), [this, delivery = std::move(delivery)](Json answer) mutable {
      journal_.when_durable([answer = std::move(answer), delivery = std::move(delivery)](const Status& status) mutable {
        if (!status) return delivery.reply(std::unexpected(status.error()));
        deliver_message(Json{{"message", std::move(answer)}}, delivery);
      });
    });
  }
  const std::string id = random_uuid();
  message["taskId"] = id;
  Task& task = tasks_.create({.id = id,
                              .principal = call.caller.viewer.principal,
                              .context = context,
                              .message = message,
                              .link = {"turn", context},
                              .command = ""});
  audit_.done(&call.caller, kSend, {{"task", id}});
  remember(call, sending, id);
  deliver(call, sending, id, false, delivery);
  turns_.work(std::move(turn), task);
}

void Service::add_to_task(const Call& call, Sending& sending, Delivery& delivery) {
  const std::string id = sending.message["taskId"];
  const auto found = tasks_.find(call.caller.viewer, id);
  if (!found) return delivery.reply(std::unexpected(found.error()));
  if (sending.message.value("contextId", (*found)->context) != (*found)->context) {
    return delivery.reply(invalid("params.message.contextId", "is not the context of params.message.taskId"));
  }
  if (const Status open = gate_of(**found, sending.message); !open)
    return delivery.reply(std::unexpected(open.error()));
  name_no_gate(sending.message);
  Task* task = tasks_.working(id);
  if (task == nullptr) {
    return delivery.reply(fail(Code::kUnsupportedOperation, "the task has ended; send the message without its taskId"));
  }
  if (task->link.kind != "turn") {
    return delivery.reply(fail(Code::kUnsupportedOperation, "a workflow does this task, and it takes no messages"));
  }
  const bool queued = !a2a::is_interrupted(task->state);
  if (queued && turns_.is_full(*task)) {
    return delivery.reply(std::unexpected(Error{.code = Code::kRateLimited,
                                                .message = "too many messages wait for this task; send it again later",
                                                .metadata = {{"retryAfterSeconds", "1"}}}));
  }
  sending.message["contextId"] = task->context;
  if (task->open_gate() != nullptr) return answer_gate(call, sending, *task, delivery);
  audit_.done(&call.caller, kSend, {{"task", id}});
  remember(call, sending, id);
  if (queued) {
    turns_.queue(*task, sending.message);
    return deliver(call, sending, id, true, delivery);
  }
  tasks_.add_message(*task, sending.message);
  Turn turn = turns_.begin(conversations_.open(task->principal, task->context), sending.message);
  turns_.work(std::move(turn), *task);
  deliver(call, sending, id, false, delivery);
}

// Whether the message may be said to the gate that it names, if it names any.
Status Service::gate_of(const Task& task, const Json& message) {
  const Json named = message.value("metadata", Json::object()).value(kGateKey, Json());
  if (!named.is_string()) return {};
  const bool newest = task.gate && task.gate->id == named.get<std::string>();
  if (newest && task.open_gate() != nullptr) return {};
  if (!newest) {
    return fail(Code::kUnsupportedOperation, "the question that this answers is not open any more");
  }
  return fail(Code::kUnsupportedOperation, fmt::format("{} has answered this question, at {}", task.gate->answered_by,
                                                       rfc3339(task.gate->answered_ms)));
}

void Service::answer_gate(const Call& call, Sending& sending, Task& task, Delivery& delivery) {
  const Gate& gate = *task.gate;
  const Json target = {{"task", task.id}, {"gate", gate.id}};
  if (gate.is_approval() && call.caller.role == config::Role::kAgent) {
    return refuse_op(
        call, kSend, target,
        {.code = Code::kPermissionDenied, .message = "whether a tool may be used is for people to say, not for agents"},
        std::move(delivery));
  }
  auto answer = read_answer(gate, sending.message);
  if (!answer) return delivery.reply(std::unexpected(std::move(answer.error())));
  sending.message["metadata"][kGateKey] = gate.id;
  audit_.done(&call.caller, kSend, target);
  const std::string id = task.id;
  remember(call, sending, id);
  turns_.answer(task, call.caller.viewer.principal, sending.message, *answer);
  deliver(call, sending, id, false, delivery);
}

void Service::run_workflow(const Call& call, Sending sending, const std::string& op, const std::string& workflow,
                           Json inputs, Delivery delivery) {
  if (const Status open = takes_work(); !open) {
    return refuse_op(call, op, {{"workflow", workflow}}, open.error(), std::move(delivery));
  }
  if (answered_before(call, sending, delivery)) return;
  const std::string run = fresh_run_id();
  const std::string id = open_op(call, sending, op, run).id;
  audit_.done(&call.caller, op, {{"workflow", workflow}, {"run", run}, {"task", id}});
  deliver(call, sending, id, false, delivery);
  runs_.start({.id = run,
               .workflow = workflow,
               .inputs = std::move(inputs),
               .start = "command",
               .principal = call.caller.viewer.principal,
               .task = id});
}

void Service::complete(const Call& call, Sending sending, const std::string& op,
                       std::move_only_function<Result<Done>()> act, Delivery delivery) {
  if (const Status open = takes_work(); !open) return refuse_op(call, op, nullptr, open.error(), std::move(delivery));
  if (answered_before(call, sending, delivery)) return;
  auto done = act();
  if (!done) return refuse_op(call, op, nullptr, done.error(), std::move(delivery));
  Task& task = open_op(call, sending, op, "");
  const std::string id = task.id;
  done->target["task"] = id;
  audit_.done(&call.caller, op, std::move(done->target));
  if (!done->result.is_null()) tasks_.put_artifact(task, result_artifact(task, std::move(done->result)));
  tasks_.set_state(task, a2a::TaskState::kCompleted);
  deliver(call, sending, id, false, delivery);
}

Result<Json> Service::perform(const access::Caller& who, const std::string& op,
                              std::move_only_function<Result<Done>()> act) {
  const Status open = takes_work();
  auto done = open ? act() : Result<Done>(std::unexpected(open.error()));
  if (!done) {
    audit_.refused(&who, op, nullptr, done.error().code);
    return std::unexpected(std::move(done.error()));
  }
  audit_.done(&who, op, std::move(done->target));
  return std::move(done->result);
}

void Service::refuse_op(const Call& call, const std::string& op, Json target, const Error& error, Delivery delivery) {
  audit_.refused(&call.caller, op, std::move(target), error.code);
  delivery.reply(std::unexpected(error));
}

Task& Service::open_op(const Call& call, Sending& sending, const std::string& op, const std::string& run) {
  const std::string id = random_uuid();
  const std::string context = sending.message.value("contextId", "ctx-" + random_hex(16));
  sending.message["contextId"] = context;
  sending.message["taskId"] = id;
  Task& task = tasks_.create({.id = id,
                              .principal = call.caller.viewer.principal,
                              .context = context,
                              .message = sending.message,
                              .link = run.empty() ? Link{"turn", context} : Link{"run", run},
                              .command = op});
  remember(call, sending, id);
  return task;
}

void Service::deliver(const Call& call, const Sending& sending, const std::string& id, bool queued,
                      Delivery& delivery) {
  if (delivery.stream) {
    return tasks_.listen(id, delivery.stream, call.active.has(a2a::Extension::kTaskAnnotations));
  }
  auto answer = [this, call, queued, view = TaskView{.history_length = sending.history_length},
                 reply = std::move(delivery.reply)](Result<std::shared_ptr<const Task>> task) mutable {
    if (!task) return reply(std::unexpected(task.error()));
    Json out = shown(call, **task, view);
    if (queued) {
      out["metadata"]["https://agentd.dev/a2a/queued"] = true;
      // Who meant it as an answer learns who was first.
      if (const auto& gate = (*task)->gate; gate && !gate->is_open()) {
        out["metadata"][kGateKey] = {
            {"id", gate->id}, {"answeredBy", gate->answered_by}, {"answeredAt", rfc3339(gate->answered_ms)}};
      }
    }
    reply(Json{{"task", std::move(out)}});
  };
  if (!sending.return_immediately) {
    tasks_.when_settled(id, std::move(answer));
    return;
  }
  journal_.when_durable(
      [this, viewer = call.caller.viewer, id, answer = std::move(answer)](const Status& status) mutable {
        if (!status) return answer(std::unexpected(status.error()));
        answer(tasks_.find(viewer, id));
      });
}

bool Service::answered_before(const Call& call, const Sending& sending, Delivery& delivery) {
  if (call.idempotency_key.empty()) return false;
  Remembered known;
  if (const auto at = keys_.find({call.caller.viewer.principal, call.idempotency_key}); at != keys_.end()) {
    known = at->second;
  } else {
    const auto row = journal_.store().idempotency(call.caller.viewer.principal, call.idempotency_key);
    if (!row) {
      delivery.reply(std::unexpected(row.error()));
      return true;
    }
    if (!*row || (*row)->created_ms + kKeyLifeMs <= clock_.wall_ms()) return false;
    known = {.digest = (*row)->digest, .task = (*row)->task, .created_ms = (*row)->created_ms};
  }
  if (known.digest != sending.digest) {
    delivery.reply(invalid("Idempotency-Key", "was used with another request; use a new key for a new request"));
    return true;
  }
  const auto task = tasks_.find(call.caller.viewer, known.task);
  if (!task) {
    delivery.reply(std::unexpected(task.error()));
  } else if (delivery.stream && tasks_.working(known.task) == nullptr) {
    auto event = std::make_shared<TaskEvent>();
    event->number = (*task)->events;
    event->text = dump_json({{"task", shown(call, **task, {})}});
    event->last = true;
    journal_.once_durable([stream = delivery.stream, event] { stream->on_event(event); });
  } else {
    deliver(call, sending, known.task, false, delivery);
  }
  return true;
}

void Service::remember(const Call& call, const Sending& sending, const std::string& task) {
  if (call.idempotency_key.empty()) return;
  const std::pair key{call.caller.viewer.principal, call.idempotency_key};
  keys_[key] = {.digest = sending.digest, .task = task, .created_ms = clock_.wall_ms()};
  journal_.put(store::IdempotencyRow{.principal = key.first,
                                     .key = key.second,
                                     .digest = sending.digest,
                                     .task = task,
                                     .created_ms = clock_.wall_ms()});
  journal_.once_durable([this, key] { keys_.erase(key); });
}

Json Service::shown(const Call& call, const Task& task, const TaskView& view) const {
  Json out = task_json(task, view);
  return call.active.has(a2a::Extension::kTaskAnnotations) ? annotated(std::move(out), task) : out;
}

void Service::get_task(const Call& call, const Json& params, Reply reply) {
  const auto read = a2a::read_shape(a2a::kGetTaskRequest, params, "params");
  if (!read) return reply(std::unexpected(read.error()));
  const auto length = history_length(*read, "params");
  if (!length) return reply(std::unexpected(length.error()));
  const auto task = tasks_.find(call.caller.viewer, (*read)["id"]);
  if (!task) return reply(std::unexpected(task.error()));
  reply(shown(call, **task, {.history_length = *length}));
}

void Service::list_tasks(const Call& call, const Json& params, Reply reply) {
  const auto query = read_query(params);
  if (!query) return reply(std::unexpected(query.error()));
  const auto page = tasks_.list(call.caller.viewer, *query);
  if (!page) return reply(std::unexpected(page.error()));
  Json tasks = Json::array();
  for (const auto& task : page->tasks) tasks.push_back(shown(call, *task, query->view));
  reply(Json{{"tasks", std::move(tasks)},
             {"nextPageToken", page->next_token},
             {"pageSize", query->page_size},
             {"totalSize", page->total}});
}

void Service::cancel_task(const Call& call, const Json& params, Reply reply) {
  const auto id = read_id(params);
  if (!id) return reply(std::unexpected(id.error()));
  const auto found = tasks_.find(call.caller.viewer, *id);
  const Json target = found ? Json{{"task", *id}} : Json();
  const auto refuse = [&](const Error& error) {
    audit_.refused(&call.caller, kCancel, target, error.code);
    reply(std::unexpected(error));
  };
  if (!found) return refuse(found.error());
  Task* task = tasks_.working(*id);
  if (task == nullptr) return refuse({.code = Code::kTaskNotCancelable, .message = "the task has ended already"});
  audit_.done(&call.caller, kCancel, target);
  // A task that waits for input is settled, so it is ended before anybody waits for it.
  task->link.kind == "run" ? runs_.cancel(task->link.id) : turns_.cancel(*task);
  tasks_.when_settled(*id, [this, call, reply = std::move(reply)](Result<std::shared_ptr<const Task>> settled) mutable {
    if (!settled) return reply(std::unexpected(settled.error()));
    reply(shown(call, **settled, {}));
  });
}

void Service::subscribe(const Call& call, const Json& params, Delivery delivery) {
  const auto id = read_id(params);
  if (!id) return delivery.reply(std::unexpected(id.error()));
  const auto found = tasks_.find(call.caller.viewer, *id);
  if (!found) return delivery.reply(std::unexpected(found.error()));
  if (tasks_.working(*id) == nullptr) {
    return delivery.reply(fail(Code::kUnsupportedOperation, "the task has ended; read it with GetTask"));
  }
  tasks_.listen(*id, delivery.stream, call.active.has(a2a::Extension::kTaskAnnotations));
}

}  // namespace agentd::runtime
