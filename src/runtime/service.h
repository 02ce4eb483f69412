// Service: the A2A operations on the core thread (a2a.md sections 2 and 3), for one caller at a time.
//
// It validates, decides who may, asks the owners of tasks, turns and runs to change, and answers when what it says is durable.
// It knows no transport. Confined to the core thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "a2a/extensions.h"
#include "access/caller.h"
#include "base/clock.h"
#include "feed/visibility.h"
#include "runtime/audit.h"
#include "runtime/conversations.h"
#include "runtime/instance.h"
#include "runtime/journal.h"
#include "runtime/runs.h"
#include "runtime/tasks.h"
#include "runtime/turns.h"

namespace agentd::runtime {

// Who calls, and how.
struct Call {
  access::Caller caller;
  a2a::Extensions active;
  std::string idempotency_key;  // "" = none
};

using ReplyValue = std::variant<Json, JsonText>;
using Reply = std::move_only_function<void(Result<ReplyValue>)>;

// How the caller of a sending method hears of it: by one reply, or by a stream. A refusal always comes by `reply`.
struct Delivery {
  Reply reply;
  std::shared_ptr<TaskListener> stream;  // null: unary
};

// Answers with a Message instead of a task: `answer` is the SendMessageResponse, {message}.
void deliver_message(ReplyValue answer, Delivery& delivery);

// A SendMessage request that has been read, whatever it will turn into.
struct Sending {
  Json message;  // in wire form
  std::optional<std::int64_t> history_length;
  bool return_immediately = false;
  Json accepted_output_modes = Json::array();
  std::string digest;  // of the params, for the idempotency key
};

// Errors: kInvalidParams, kPushNotSupported.
[[nodiscard]] Result<Sending> read_sending(const Json& params);

class Service final {
 public:
  Service(Journal& journal, const Clock& clock, Tasks& tasks, Conversations& conversations, Turns& turns, Runs& runs,
          Instance& instance, Audit& audit);

  void send(const Call& call, Sending sending, Delivery delivery);
  // A task that runs a workflow; checked before (Runs::check). `op` is noted as what made it.
  void run_workflow(const Call& call, Sending sending, const std::string& op, const std::string& workflow, Json inputs,
                    Delivery delivery);
  // A task that is over with what `act` gives. `act` runs at once, and not at all when the call is refused.
  void complete(const Call& call, Sending sending, const std::string& op, std::move_only_function<Result<Done>()> act,
                Delivery delivery);
  // What `act` gives, without a task made of it: for who asks by other ways than A2A. Errors: its own; kDraining, kUnavailable.
  [[nodiscard]] Result<Json> perform(const access::Caller& who, const std::string& op,
                                     std::move_only_function<Result<Done>()> act);
  // Answers an op with a refusal, which goes to the audit trail. `target`: what is known to be there.
  void refuse_op(const Call& call, const std::string& op, Json target, const Error& error, Delivery delivery);

  void get_task(const Call& call, const Json& params, Reply reply);
  void list_tasks(const Call& call, const Json& params, Reply reply);
  void cancel_task(const Call& call, const Json& params, Reply reply);
  void subscribe(const Call& call, const Json& params, Delivery delivery);

 private:
  struct Remembered {
    std::string digest, task;
    std::int64_t created_ms = 0;
  };

  [[nodiscard]] Status takes_work() const;
  // True when the call was answered: its key had been used.
  bool answered_before(const Call& call, const Sending& sending, Delivery& delivery);
  void remember(const Call& call, const Sending& sending, const std::string& task);
  // The task that an op makes. Without a run it is the agent's own, as a turn is.
  Task& open_op(const Call& call, Sending& sending, const std::string& op, const std::string& run);
  void open_task(const Call& call, Sending& sending, Delivery& delivery);
  void add_to_task(const Call& call, Sending& sending, Delivery& delivery);
  [[nodiscard]] static Status gate_of(const Task& task, const Json& message);
  void answer_gate(const Call& call, Sending& sending, Task& task, Delivery& delivery);
  void deliver(const Call& call, const Sending& sending, const std::string& task, bool queued, Delivery& delivery);
  [[nodiscard]] Json shown(const Call& call, const Task& task, const TaskView& view) const;

  Journal& journal_;
  const Clock& clock_;
  Tasks& tasks_;
  Conversations& conversations_;
  Turns& turns_;
  Runs& runs_;
  Instance& instance_;
  Audit& audit_;
  std::map<std::pair<std::string, std::string>, Remembered> keys_;  // principal, key: those not yet durable
};

}  // namespace agentd::runtime
