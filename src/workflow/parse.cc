#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>

#include "base/faults.h"
#include "base/time_text.h"
#include "workflow/expressions.h"
#include "workflow/keys.h"
#include "workflow/model.h"
#include "workflow/order.h"
#include "workflow/template.h"

namespace agentd::workflow {
namespace {

constexpr std::size_t kMaxSteps = 256;
constexpr std::uint64_t kMaxRetries = 100;
constexpr std::int64_t kMaxOutputCap = 2 << 20;
constexpr std::string_view kTemplateOpen = "${{";

// FNV-1a: it tells apart two versions of a document, nobody gains by forging one.
std::string hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return fmt::format("{:016x}", hash);
}

bool matches(const std::string& text, std::string_view pattern) {
  return RE2::FullMatch(text, RE2(re2::StringPiece(pattern.data(), pattern.size())));
}

class Parser final {
 public:
  explicit Parser(const Document& document) : document_(document), faults_(document) {}

  std::expected<Workflow, std::vector<Fault>> parse() {
    const Json& root = document_.value;
    if (!root.is_object()) {
      fault("", "a workflow is a mapping with a name and steps");
      return std::unexpected(faults_.take());
    }
    check_keys("", root, workflow_keys());
    read_head(root);
    read_start(root);
    read_steps(root);
    sort_steps();
    compile();
    if (!faults_.empty()) return std::unexpected(faults_.take());
    workflow_.hash = hash_of(dump_json(root));
    return std::move(workflow_);
  }

 private:
  struct Use {
    std::string source, path;
  };

  void fault(const std::string& path, std::string message, std::string expected = "") {
    faults_.add(path, std::move(message), std::move(expected));
  }

  void check_keys(const std::string& path, const Json& object, std::span<const Key> keys) {
    faults_.add_unknown_keys(path, object, names_of(keys));
  }

  // The string at `key`, or nothing; a fault when it is something else.
  std::optional<std::string> text_at(const std::string& path, const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) return std::nullopt;
    if (found->is_string()) return found->get<std::string>();
    fault(member_path(path, key), "must be a string");
    return std::nullopt;
  }

  // A scalar as a person would write it in a command: numbers and booleans without quotes.
  std::optional<std::string> scalar(const std::string& path, const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number() || value.is_boolean()) return value.dump();
    fault(path, "must be a string, a number or a boolean");
    return std::nullopt;
  }

  void use_template(const std::string& path, const std::string& text) {
    auto pieces = split_template(text);
    if (!pieces) return fault(path, std::move(pieces.error()));
    for (Piece& piece : *pieces) {
      if (piece.expression) uses_.push_back({.source = std::move(piece.text), .path = path});
    }
  }

  void use_templates_of(const std::string& path, const Json& value) {
    if (value.is_string()) return use_template(path, value.get_ref<const std::string&>());
    if (value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i) use_templates_of(item_path(path, i), value[i]);
    } else if (value.is_object()) {
      for (const auto& [key, inner] : value.items()) use_templates_of(member_path(path, key), inner);
    }
  }

  void read_head(const Json& root) {
    if (!root.contains("name")) fault("", "name is missing", "name: a-name");
    if (auto name = text_at("", root, "name")) {
      if (!matches(*name, kNamePattern)) {
        fault("name", fmt::format("\"{}\" is no name", *name), "up to 64 letters, digits, '.', '_' and '-'");
      }
      workflow_.name = std::move(*name);
    }
    workflow_.description = text_at("", root, "description").value_or("");
    if (const auto inputs = root.find("inputs"); inputs != root.end() && !inputs->is_null()) {
      if (!inputs->is_object()) fault("inputs", "must be a JSON Schema", "{type: object, properties: {…}}");
      workflow_.inputs = *inputs;
    }
  }

  void read_start(const Json& root) {
    const auto start = root.find("start");
    if (start == root.end()) return;
    const std::string expected = "{a2a: {command: report}}";
    if (!start->is_object() || start->empty()) return fault("start", "must say what starts a run", expected);
    check_keys("start", *start, start_keys());
    const auto a2a = start->find("a2a");
    if (a2a == start->end()) return;
    if (!a2a->is_object()) return fault("start.a2a", "must be a mapping", "{command: report}");
    read_command("start.a2a", *a2a, workflow_.command.emplace());
  }

  void read_command(const std::string& path, const Json& command, CommandStart& spec) {
    check_keys(path, command, command_keys());
    if (!command.contains("command")) fault(path, "command is missing", "command: report");
    if (auto op = text_at(path, command, "command")) {
      if (op->size() > kMaxOpBytes || !matches(*op, kOpPattern)) {
        fault(member_path(path, "command"), fmt::format("{} is no name of an op", quote_json(cut_text(*op, 100))),
              "up to 64 lower-case letters, digits, '_' and '-' in words that begin with a letter, joined by '.'");
      }
      spec.op = std::move(*op);
    }
    if (const auto roles = command.find("roles"); roles != command.end()) {
      read_roles(member_path(path, "roles"), *roles, spec);
    }
    if (const auto schema = command.find("schema"); schema != command.end()) {
      if (!schema->is_object()) fault(member_path(path, "schema"), "must be a JSON Schema", "{type: object, …}");
      spec.schema = *schema;
    }
  }

  void read_roles(const std::string& path, const Json& roles, CommandStart& spec) {
    if (!roles.is_array() || roles.empty()) return fault(path, "must be a list of roles", "[user, agent]");
    for (std::size_t i = 0; i < roles.size(); ++i) {
      if (roles[i] == "user" || roles[i] == "agent" || roles[i] == "operator") continue;
      fault(item_path(path, i), "is no role", "user, agent or operator");
    }
    const auto has = [&roles](std::string_view role) { return std::ranges::find(roles, Json(role)) != roles.end(); };
    spec.users = has("user");
    spec.agents = has("agent");
  }

  void read_steps(const Json& root) {
    const auto steps = root.find("steps");
    if (steps == root.end() || !steps->is_object() || steps->empty()) {
      return fault(steps == root.end() ? "" : "steps", "a workflow has at least one step",
                   "steps: {first: {exec: [date]}}");
    }
    if (steps->size() > kMaxSteps) return fault("steps", fmt::format("more than {} steps", kMaxSteps));
    for (const auto& [id, step] : steps->items()) {
      const std::string path = member_path("steps", id);
      if (!matches(id, kStepPattern)) {
        fault(path, fmt::format("\"{}\" is no id of a step", id),
              "up to 64 letters, digits, '_' and '-', not beginning with a digit or '-'");
      }
      StepSpec spec;
      spec.id = id;
      if (step.is_object()) {
        read_step(path, step, spec);
      } else {
        fault(path, "a step is a mapping", "{exec: [program, argument]}");
      }
      workflow_.steps.push_back(std::move(spec));
    }
  }

  void read_step(const std::string& path, const Json& step, StepSpec& spec) {
    check_keys(path, step, step_keys());
    read_needs(path, step, spec);
    if (auto when = text_at(path, step, "when")) read_when(member_path(path, "when"), *when, spec);
    if (const auto allow = step.find("allow_failure"); allow != step.end()) {
      if (!allow->is_boolean()) fault(member_path(path, "allow_failure"), "must be true or false");
      spec.allow_failure = *allow == true;
    }
    const auto kinds = step.contains("exec") + step.contains("run") + step.contains("finish");
    if (kinds != 1) fault(path, "a step has exactly one of exec, run and finish");
    if (step.contains("finish")) {
      spec.kind = StepSpec::Kind::kFinish;
      read_finish(member_path(path, "finish"), step["finish"], spec.finish);
      for (const char* key : {"env", "cwd", "input", "output", "output_cap", "timeout", "retries"}) {
        if (step.contains(key)) fault(member_path(path, key), "belongs to a step with exec or run");
      }
      return;
    }
    if (step.contains("exec")) read_argv(member_path(path, "exec"), step["exec"], spec.exec);
    if (auto script = text_at(path, step, "run")) read_script(member_path(path, "run"), *script, spec.exec);
    read_exec_options(path, step, spec.exec);
    read_exec_bounds(path, step, spec.exec);
  }

  void read_needs(const std::string& path, const Json& step, StepSpec& spec) {
    const auto needs = step.find("needs");
    if (needs == step.end()) return;
    const std::string at = member_path(path, "needs");
    if (!needs->is_array()) return fault(at, "must be a list of steps", "[first, second]");
    for (std::size_t i = 0; i < needs->size(); ++i) {
      const Json& need = (*needs)[i];
      if (!need.is_string()) {
        fault(item_path(at, i), "must be the id of a step");
      } else if (std::ranges::find(spec.needs, need.get<std::string>()) != spec.needs.end()) {
        fault(item_path(at, i), fmt::format("\"{}\" is named twice", need.get<std::string>()));
      } else {
        spec.needs.push_back(need.get<std::string>());
      }
    }
  }

  void read_when(const std::string& path, const std::string& when, StepSpec& spec) {
    if (when.find(kTemplateOpen) != std::string::npos) {
      return fault(path, "is an expression as a whole: write it without ${{ }}", "when: .steps.check.output == true");
    }
    if (auto checked = check_expression(when); !checked) return fault(path, std::move(checked.error()));
    spec.when = when;
    uses_.push_back({.source = when, .path = path});
  }

  void read_argv(const std::string& path, const Json& argv, ExecSpec& exec) {
    if (!argv.is_array() || argv.empty()) {
      return fault(path, "must be a list: a program and its arguments", "[git, log, --oneline]");
    }
    for (std::size_t i = 0; i < argv.size(); ++i) {
      auto text = scalar(item_path(path, i), argv[i]);
      if (!text) continue;
      use_template(item_path(path, i), *text);
      exec.argv.push_back(std::move(*text));
    }
    if (!argv[0].is_string() || argv[0].get_ref<const std::string&>().empty()) {
      fault(item_path(path, 0), "must name a program");
    } else if (argv[0].get_ref<const std::string&>().find(kTemplateOpen) != std::string::npos) {
      fault(item_path(path, 0), "which program runs may not come from an expression: write its name");
    }
  }

  void read_script(const std::string& path, const std::string& script, ExecSpec& exec) {
    if (script.empty()) fault(path, "must be a script");
    if (script.find(kTemplateOpen) != std::string::npos) {
      fault(path, "${{ }} in a script would be run as code: pass the value by env and write \"$NAME\" here",
            R"(env: {NAME: "${{ … }}"})");
    }
    exec.shell = true;
    exec.argv = {"/bin/sh", "-euc", script};
  }

  void read_exec_options(const std::string& path, const Json& step, ExecSpec& exec) {
    if (const auto env = step.find("env"); env != step.end()) read_env(member_path(path, "env"), *env, exec);
    for (const auto& [key, target] : {std::pair{"cwd", &exec.cwd}, std::pair{"input", &exec.input}}) {
      *target = text_at(path, step, key).value_or("");
      use_template(member_path(path, key), *target);
    }
    if (const auto output = text_at(path, step, "output")) {
      if (*output != "text" && *output != "json")
        fault(member_path(path, "output"), "unknown form of output", "text or json");
      exec.json_output = *output == "json";
    }
  }

  void read_exec_bounds(const std::string& path, const Json& step, ExecSpec& exec) {
    if (const auto timeout = text_at(path, step, "timeout")) {
      const auto ms = parse_duration(*timeout);
      if (!ms) {
        fault(member_path(path, "timeout"), ms.error().message, "a duration such as 30s");
      } else if (*ms == 0) {
        fault(member_path(path, "timeout"), "must be longer than nothing", "a duration such as 30s");
      }
      exec.timeout_ms = ms.value_or(0);
    }
    if (const auto cap = step.find("output_cap"); cap != step.end()) {
      const auto bytes = parse_size(cap->is_string() ? cap->get<std::string>() : cap->dump());
      if (!bytes || *bytes < 1 || *bytes > kMaxOutputCap) {
        fault(member_path(path, "output_cap"), "must be a size of at most 2MiB", "a size such as 256KiB");
      }
      exec.output_cap = static_cast<std::uint64_t>(bytes.value_or(0));
    }
    if (const auto retries = step.find("retries"); retries != step.end()) {
      if (!retries->is_number_integer() || *retries < 0 || *retries > kMaxRetries) {
        return fault(member_path(path, "retries"), fmt::format("must be a number from 0 to {}", kMaxRetries));
      }
      exec.retries = retries->get<std::uint64_t>();
    }
  }

  void read_env(const std::string& path, const Json& env, ExecSpec& exec) {
    if (!env.is_object()) return fault(path, "must be a mapping of names to values", R"({NAME: "value"})");
    for (const auto& [name, value] : env.items()) {
      const std::string at = member_path(path, name);
      if (!matches(name, "[A-Za-z_][A-Za-z0-9_]*")) {
        fault(at, fmt::format("\"{}\" is no name of a variable", name), "letters, digits and '_'");
      }
      auto text = scalar(at, value);
      if (!text) continue;
      use_template(at, *text);
      exec.env.emplace_back(name, std::move(*text));
    }
  }

  void read_finish(const std::string& path, const Json& finish, FinishSpec& spec) {
    if (!finish.is_object()) return fault(path, "must be a mapping", "{output: …, artifact: {…}}");
    check_keys(path, finish, finish_keys());
    if (const auto output = finish.find("output"); output != finish.end()) {
      use_templates_of(member_path(path, "output"), *output);
      spec.output = *output;
    }
    const auto artifact = finish.find("artifact");
    if (artifact == finish.end()) return;
    const std::string at = member_path(path, "artifact");
    if (!artifact->is_object()) return fault(at, "must be a mapping", "{name: report.md, text: …}");
    check_keys(at, *artifact, artifact_keys());
    FinishSpec::Artifact out;
    out.name = text_at(at, *artifact, "name").value_or("");
    out.media_type = text_at(at, *artifact, "mediaType").value_or("text/plain");
    if (out.name.empty()) fault(at, "an artifact has a name", "name: report.md");
    if (out.name == "result")
      fault(at, "\"result\" is the name of the artifact with the run's output", "name: report.md");
    if (!artifact->contains("text")) fault(at, "an artifact has a text");
    out.text = text_at(at, *artifact, "text").value_or("");
    use_template(member_path(at, "text"), out.text);
    spec.artifacts.push_back(std::move(out));
  }

  void sort_steps() {
    for (OrderFault& found : sort_by_needs(workflow_.steps)) {
      const std::string path = member_path("steps", found.step);
      fault(item_path(member_path(path, "needs"), found.need), std::move(found.message));
    }
  }

  void compile() {
    std::vector<std::string> sources;
    for (const Use& use : uses_) sources.push_back(use.source);
    auto compiled = Expressions::compile(sources);
    if (compiled) {
      workflow_.expressions = std::move(*compiled);
      return;
    }
    for (const Expressions::Refusal& refusal : compiled.error()) {
      if (refusal.source.empty()) fault("", fmt::format("its expressions do not compile: {}", refusal.reason));
      for (const Use& use : uses_) {
        if (use.source != refusal.source) continue;
        fault(use.path, fmt::format("`{}` does not compile: {}", cut_text(use.source, 200), refusal.reason));
      }
    }
  }

  const Document& document_;
  Workflow workflow_;
  std::vector<Use> uses_;
  Faults faults_;
};

}  // namespace

std::expected<Workflow, std::vector<Fault>> parse(const Document& document) { return Parser(document).parse(); }

}  // namespace agentd::workflow
