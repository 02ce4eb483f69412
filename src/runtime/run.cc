#include "runtime/run.h"

#include <fmt/format.h>

namespace agentd::runtime {
namespace {

constexpr std::size_t kErrorBytes = 2000;

std::string_view trim_end(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// The last lines of stderr are where programs say why.
std::string reason_of(const process::ChildResult& result) {
  const std::string_view err = trim_end(result.err);
  if (err.empty()) return result.reason;
  const std::string_view tail = err.size() > kErrorBytes ? err.substr(err.size() - kErrorBytes) : err;
  return fmt::format("{}: {}", result.reason, to_utf8(tail));
}

}  // namespace

feed::Run payload(const RunFacts& facts) {
  const auto text = [](const std::string& value) { return value.empty() ? std::nullopt : std::optional(value); };
  return {.id = facts.id,
          .workflow = facts.workflow,
          .status = std::string(workflow::to_string(facts.status)),
          .start = facts.start,
          .steps = facts.steps,
          .created = static_cast<feed::Count>(facts.created_ms),
          .updated = static_cast<feed::Count>(facts.updated_ms),
          .finished = facts.finished_ms ? std::optional(static_cast<feed::Count>(*facts.finished_ms)) : std::nullopt,
          .output = facts.output,
          .error = text(facts.error),
          .task = text(facts.task),
          .principal = text(facts.principal)};
}

store::RunRow to_row(const RunFacts& facts) {
  const Json body = {{"workflow", facts.workflow}, {"hash", facts.hash},
                     {"start", facts.start},       {"task", facts.task},
                     {"inputs", facts.inputs},     {"finished", facts.finished_ms ? Json(*facts.finished_ms) : Json()},
                     {"output", facts.output},     {"error", facts.error},
                     {"steps", facts.steps},       {"cancelled", facts.cancelled},
                     {"paused", facts.paused}};
  return {.id = facts.id,
          .principal = facts.principal,
          .status = std::string(workflow::to_string(facts.status)),
          .created_ms = facts.created_ms,
          .updated_ms = facts.updated_ms,
          .body = dump_json(body)};
}

Result<RunFacts> facts_from_row(const store::RunRow& row) {
  try {
    const Json body = Json::parse(row.body);
    RunFacts facts{.id = row.id,
                   .workflow = body.at("workflow"),
                   .hash = body.at("hash"),
                   .start = body.at("start"),
                   .principal = row.principal,
                   .task = body.at("task"),
                   .inputs = body.at("inputs"),
                   .created_ms = row.created_ms,
                   .updated_ms = row.updated_ms,
                   .status = workflow::run_status(row.status).value(),
                   .output = body.at("output"),
                   .error = body.at("error"),
                   .steps = body.at("steps"),
                   .cancelled = body.at("cancelled"),
                   .paused = body.value("paused", false)};
    if (!body.at("finished").is_null()) facts.finished_ms = body.at("finished").get<std::int64_t>();
    return facts;
  } catch (const std::exception& error) {
    return fail(Code::kUnavailable, "run " + row.id + " cannot be read from the store: " + error.what());
  }
}

StepEnd step_end(const process::ChildResult& result, bool json_output) {
  using workflow::StepStatus;
  using End = process::ChildResult::End;
  if (result.end == End::kTimedOut) return {.status = StepStatus::kTimeout, .output = {}, .error = reason_of(result)};
  if (result.end == End::kCancelled) return {.status = StepStatus::kCancelled, .output = {}, .error = result.reason};
  if (result.end != End::kExited || result.code != 0) {
    return {.status = StepStatus::kFailed, .output = {}, .error = reason_of(result)};
  }
  if (!json_output) {
    const std::string text = to_utf8(trim_end(result.out));
    if (result.out_dropped == 0) return {.output = text};
    return {.output = fmt::format("{}…(+{} bytes)", text, result.out_dropped)};
  }
  auto value = result.out_dropped == 0
                   ? parse_json(result.out)
                   : fail(Code::kParse, fmt::format("longer than the cap by {} bytes", result.out_dropped));
  if (value) return {.output = std::move(*value)};
  return {.status = StepStatus::kFailed, .output = {}, .error = "the output was to be JSON: " + value.error().message};
}

}  // namespace agentd::runtime
