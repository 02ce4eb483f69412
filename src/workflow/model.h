// Workflow: a named graph of steps, as parsed from its document and checked. Immutable.
//
//   name: report
//   description: What happened in this repository
//   inputs: {type: object, properties: {dir: {type: string}}}      # JSON Schema of the run's inputs (optional)
//   start: {a2a: {command: report, roles: [user]}}                 # an op of the command extension that starts it (optional)
//   steps:
//     authors:
//       exec: [git, shortlog, -sne, HEAD]     # argv, each item may hold ${{ … }}; or `run:` for a shell script
//       cwd: ${{ .inputs.dir }}
//       timeout: 30s
//     sizes:
//       run: |                                # /bin/sh -eu; expressions are not allowed in it (they would be code):
//         du -a "$DIR" | sort -rn | head      # values come in by `env`
//       env: {DIR: "${{ .inputs.dir }}"}
//       output: text                          # text (default, trailing newline cut) or json
//     report:
//       needs: [authors, sizes]
//       finish:
//         output: {authors: "${{ .steps.authors.output }}"}         # the run's output: any value; strings may hold ${{ … }}
//         artifact: {name: report.md, mediaType: text/markdown, text: "${{ … }}"}    # optional
//
// `${{ … }}` is a jq program over {inputs, steps: {<id>: {status, output, error}}, run: {id}}. A string that is one
// expression alone becomes its value (in a block of several lines: `|-`, for a newline at the end is text); otherwise
// results are put in as text (strings as they are, others as JSON). `$${{` is the text `${{`. An expression sees the
// steps that its own needs, directly or through others; see workflow/expressions.h for what jq may not do here.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/json.h"

namespace agentd::workflow {

class Expressions;  // every expression of one workflow, compiled (workflow/expressions.h)

struct ExecSpec {
  std::vector<std::string> argv;                         // templates; for `run:` {"/bin/sh", "-euc", script}
  bool shell = false;                                    // argv[2] is taken as it is
  std::vector<std::pair<std::string, std::string>> env;  // value: template
  std::string cwd;                                       // template; "" = the daemon's
  std::string input;                                     // template, given on stdin
  bool json_output = false;
  std::uint64_t output_cap = 1U << 20U;
  std::int64_t timeout_ms = 600'000;
  std::uint64_t retries = 0;  // attempts after the first that failed
};

struct FinishSpec {
  Json output;  // value whose strings are templates
  struct Artifact {
    std::string name, media_type, text;  // text: template
  };
  std::vector<Artifact> artifacts;  // at most one per finish step in this version
};

struct StepSpec {
  std::string id;
  enum class Kind : std::uint8_t { kExec, kFinish } kind = Kind::kExec;
  std::vector<std::string> needs;
  std::string when;  // jq without ${{ }}; false or null: the step is skipped. "" = always
  bool allow_failure = false;
  ExecSpec exec;
  FinishSpec finish;
};

// An op of the command extension that starts a run, with the op's arguments as its inputs.
struct CommandStart {
  std::string op;
  bool users = true, agents = true;  // who may, beside an operator
  Json schema;                       // JSON Schema of the arguments, or null: that of the inputs
};

struct Workflow {
  std::string name, description;
  Json inputs;  // JSON Schema, or null
  std::optional<CommandStart> command;
  std::string hash;  // of the document: a run that was started under another hash is not resumed into this one
  std::vector<StepSpec> steps;  // in topological order
  std::shared_ptr<const Expressions> expressions;
};

// Every fault: unknown and missing keys, bad ids, unknown or circular needs, expressions that do not compile.
[[nodiscard]] std::expected<Workflow, std::vector<Fault>> parse(const Document& document);

// JSON Schema of a workflow document.
[[nodiscard]] Json workflow_schema();

}  // namespace agentd::workflow
