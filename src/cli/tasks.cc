#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/fields.h"
#include "cli/printable.h"
#include "cli/render.h"
#include "client/launch.h"
#include "client/rpc.h"

namespace agentd::cli {
namespace {

constexpr std::size_t kPageSize = 100;  // the most that the protocol allows
constexpr int kMaxPages = 10'000;

Json page_params(const TasksOptions& options, std::size_t wanted, const std::string& token) {
  Json params = {{"pageSize", std::min(wanted, kPageSize)}, {"historyLength", 1}};
  if (!options.state.empty()) params["status"] = options.state;
  if (!options.context.empty()) params["contextId"] = options.context;
  if (!token.empty()) params["pageToken"] = token;
  return params;
}

Result<std::vector<Json>> list_tasks(const client::Rpc& rpc, const TasksOptions& options) {
  std::vector<Json> tasks;
  std::string token;
  for (int page = 0; page < kMaxPages && tasks.size() < options.limit; ++page) {
    auto result =
        rpc.call({.method = "ListTasks", .params = page_params(options, options.limit - tasks.size(), token)});
    if (!result) return std::unexpected(result.error());
    const Json& listed = member(*result, "tasks");
    if (!listed.is_array()) return fail(Code::kParse, "the daemon's list of tasks is none");
    tasks.insert(tasks.end(), listed.begin(), listed.end());
    token = text_of(*result, "nextPageToken");
    if (token.empty()) break;
  }
  return tasks;
}

}  // namespace

int run_tasks(const TasksOptions& options, Console console) {
  const auto endpoint = client::endpoint_of(options.daemon, console.credentials, console.stop);
  if (!endpoint) return report(endpoint.error(), {}, console);
  const auto tasks = list_tasks(client::Rpc(*endpoint, console.stop), options);
  if (!tasks) return report(tasks.error(), *endpoint, console);
  if (options.json) {
    for (const auto& task : *tasks) console.out.line(dump_json(task));
  } else {
    console.out.text(render_tasks(*tasks, SystemClock().wall_ms(), console.out.style()));
  }
  return kOk;
}

int run_task(const TaskOptions& options, Console console) {
  const bool cancel = options.verb == TaskOptions::Verb::kCancel;
  const auto endpoint = client::endpoint_of(options.daemon, console.credentials, console.stop);
  if (!endpoint) return report(endpoint.error(), {}, console);
  const client::Rpc rpc(*endpoint, console.stop);
  const auto task = rpc.call({.method = cancel ? "CancelTask" : "GetTask",
                              .params = {{"id", options.id}},
                              .extensions = {client::kAnnotationsUri}});
  if (!task) return report(task.error(), *endpoint, console);
  if (options.json) {
    console.out.line(dump_json(*task));
  } else if (cancel) {
    console.out.line(fmt::format("{} is {}", one_line(options.id), one_line(state_name(member(*task, "status")))));
  } else {
    console.out.text(render_task(*task, SystemClock().wall_ms(), console.out.style()));
  }
  return kOk;
}

}  // namespace agentd::cli
