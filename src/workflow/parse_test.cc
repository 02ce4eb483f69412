#include <gtest/gtest.h>

#include <algorithm>

#include "workflow/expressions.h"
#include "workflow/model.h"

namespace agentd::workflow {
namespace {

std::expected<Workflow, std::vector<Fault>> parse_text(std::string_view yaml) {
  const auto document = parse_document(yaml, "w.yaml");
  EXPECT_TRUE(document.has_value()) << (document ? "" : to_string(document.error().front()));
  return document ? parse(*document) : std::unexpected(document.error());
}

std::vector<Fault> faults(std::string_view yaml) {
  auto parsed = parse_text(yaml);
  return parsed ? std::vector<Fault>{} : parsed.error();
}

// The only fault of a workflow with this one step.
Fault fault_of_step(const std::string& step) {
  const auto found = faults("name: w\nsteps:\n  s: " + step + "\n");
  EXPECT_EQ(found.size(), 1U) << step << (found.size() > 1 ? ": " + to_string(found[1]) : "");
  return found.empty() ? Fault{} : found.front();
}

TEST(Parse, ReadsEverythingThatAWorkflowCanSay) {
  const auto parsed = parse_text(R"(
name: report
description: What happened
inputs: {type: object}
steps:
  report:
    needs: [authors, sizes]
    finish:
      output: {authors: "${{ .steps.authors.output }}", n: 1}
      artifact: {name: report.md, mediaType: text/markdown, text: "${{ .run.id }}"}
  authors:
    exec: [git, log, -5, "${{ .inputs.dir }}"]
    cwd: ${{ .inputs.dir }}
    timeout: 30s
    retries: 2
    allow_failure: true
    output: json
  sizes:
    when: .inputs.dir != null
    run: |
      du -a "$DIR"
    env: {DIR: "${{ .inputs.dir }}", DEPTH: 3}
    input: hello
    output_cap: 64KiB
)");
  ASSERT_TRUE(parsed.has_value()) << to_string(parsed.error().front());
  EXPECT_EQ(parsed->name, "report");
  EXPECT_EQ(parsed->inputs, Json({{"type", "object"}}));
  ASSERT_EQ(parsed->steps.size(), 3U);
  const StepSpec& authors = parsed->steps[0];
  EXPECT_EQ(authors.id, "authors");
  EXPECT_EQ(authors.exec.argv, (std::vector<std::string>{"git", "log", "-5", "${{ .inputs.dir }}"}));
  EXPECT_EQ(authors.exec.timeout_ms, 30'000);
  EXPECT_EQ(authors.exec.retries, 2U);
  EXPECT_TRUE(authors.allow_failure);
  EXPECT_TRUE(authors.exec.json_output);
  const StepSpec& sizes = parsed->steps[1];
  EXPECT_EQ(sizes.when, ".inputs.dir != null");
  EXPECT_TRUE(sizes.exec.shell);
  EXPECT_EQ(sizes.exec.argv, (std::vector<std::string>{"/bin/sh", "-euc", "du -a \"$DIR\"\n"}));
  EXPECT_EQ(sizes.exec.env,
            (std::vector<std::pair<std::string, std::string>>{{"DIR", "${{ .inputs.dir }}"}, {"DEPTH", "3"}}));
  EXPECT_EQ(sizes.exec.input, "hello");
  EXPECT_EQ(sizes.exec.output_cap, 64U << 10U);
  const StepSpec& report = parsed->steps[2];
  EXPECT_EQ(report.kind, StepSpec::Kind::kFinish);
  ASSERT_EQ(report.finish.artifacts.size(), 1U);
  EXPECT_EQ(report.finish.artifacts[0].media_type, "text/markdown");
  EXPECT_EQ(parsed->expressions->evaluate(".run.id", JqValue(Json{{"run", {{"id", "r1"}}}})).value(), "r1");
}

TEST(Parse, SortsByNeedsAndOtherwiseKeepsTheOrder) {
  const auto parsed = parse_text(
      "name: w\nsteps: {a: {needs: [d], exec: [x]}, b: {exec: [x]}, c: {exec: [x]}, d: {needs: [c], exec: "
      "[x]}}");
  ASSERT_TRUE(parsed.has_value());
  std::string order;
  for (const StepSpec& step : parsed->steps) order += step.id;
  EXPECT_EQ(order, "cdab");
}

TEST(Parse, TheHashFollowsTheDocument) {
  const auto hash = [](std::string_view text) { return parse_text(text)->hash; };
  EXPECT_EQ(hash("name: w\nsteps: {a: {exec: [x]}}"), hash("# a comment\nname: w\nsteps:\n  a: {exec: [x]}"));
  EXPECT_NE(hash("name: w\nsteps: {a: {exec: [x]}}"), hash("name: w\nsteps: {a: {exec: [y]}}"));
}

TEST(Parse, ReportsAllFaultsOfADocumentEachWithItsPlace) {
  const auto found = faults(R"(name: "no name"
stepz: 1
steps:
  a:
    exec: [x, "${{ .a | }}"]
    needs: [bb, bb]
    timeout: soon
  b:
    need: [a]
    when: ${{ .x }}
)");
  std::map<std::string, const Fault*> by_path;
  for (const Fault& fault : found) by_path[fault.path] = &fault;
  EXPECT_EQ(found.size(), by_path.size());
  for (const char* path : {"name", "stepz", "steps.a.exec[1]", "steps.a.needs[0]", "steps.a.needs[1]",
                           "steps.a.timeout", "steps.b.need", "steps.b.when", "steps.b"}) {
    ASSERT_TRUE(by_path.contains(path)) << path;
    EXPECT_EQ(by_path[path]->file, "w.yaml");
  }
  EXPECT_EQ(by_path["steps.a.exec[1]"]->line, 5);
  EXPECT_EQ(by_path["steps.b.when"]->line, 10);
  EXPECT_NE(by_path["stepz"]->message.find("did you mean steps?"), std::string::npos);
  EXPECT_NE(by_path["steps.b.need"]->message.find("did you mean needs?"), std::string::npos);
  EXPECT_NE(by_path["steps.a.exec[1]"]->message.find("`.a |` does not compile: syntax error"), std::string::npos);
}

TEST(Parse, NamesTheCircleAndTheMissingNeed) {
  const auto circle =
      faults("name: w\nsteps: {a: {needs: [c], exec: [x]}, b: {needs: [a], exec: [x]}, c: {needs: [b], exec: [x]}}");
  ASSERT_EQ(circle.size(), 1U);
  EXPECT_EQ(circle[0].path, "steps.b.needs[0]");
  EXPECT_NE(circle[0].message.find("a needs c needs b needs a"), std::string::npos) << circle[0].message;
  const auto itself = faults("name: w\nsteps: {a: {needs: [a], exec: [x]}}");
  ASSERT_EQ(itself.size(), 1U);
  EXPECT_NE(itself[0].message.find("a needs a"), std::string::npos);
  const auto missing = faults("name: w\nsteps: {authors: {exec: [x]}, b: {needs: [author], exec: [x]}}");
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing[0].path, "steps.b.needs[0]");
  EXPECT_NE(missing[0].message.find("did you mean authors?"), std::string::npos);
}

TEST(Parse, KeepsExpressionsOutOfWhatIsRun) {
  const Fault script = fault_of_step("{run: 'rm ${{ .inputs.dir }}'}");
  EXPECT_EQ(script.path, "steps.s.run");
  EXPECT_NE(script.message.find("pass the value by env"), std::string::npos);
  const Fault program = fault_of_step("{exec: ['${{ .inputs.program }}', x]}");
  EXPECT_EQ(program.path, "steps.s.exec[0]");
  EXPECT_NE(program.message.find("may not come from an expression"), std::string::npos);
}

TEST(Parse, RefusesStepsThatMakeNoSense) {
  EXPECT_EQ(fault_of_step("{exec: [x], run: y}").path, "steps.s");
  EXPECT_EQ(fault_of_step("{allow_failure: true}").path, "steps.s");
  EXPECT_EQ(fault_of_step("[x]").path, "steps.s");
  EXPECT_EQ(fault_of_step("{exec: x}").path, "steps.s.exec");
  EXPECT_EQ(fault_of_step("{exec: []}").path, "steps.s.exec");
  EXPECT_EQ(fault_of_step("{exec: [x, {y: 1}]}").path, "steps.s.exec[1]");
  EXPECT_EQ(fault_of_step("{exec: [x], timeout: 0s}").path, "steps.s.timeout");
  EXPECT_EQ(fault_of_step("{exec: [x], timeout: 5}").path, "steps.s.timeout");
  EXPECT_EQ(fault_of_step("{exec: [x], retries: -1}").path, "steps.s.retries");
  EXPECT_EQ(fault_of_step("{exec: [x], output: xml}").path, "steps.s.output");
  EXPECT_EQ(fault_of_step("{exec: [x], output_cap: 3MiB}").path, "steps.s.output_cap");
  EXPECT_EQ(fault_of_step("{exec: [x], env: {A=B: 1}}").path, "steps.s.env.A=B");
  EXPECT_EQ(fault_of_step("{exec: [x], needs: s}").path, "steps.s.needs");
  EXPECT_EQ(fault_of_step("{exec: [x], allow_failure: 1}").path, "steps.s.allow_failure");
  EXPECT_EQ(fault_of_step("{finish: {}, timeout: 1s}").path, "steps.s.timeout");
  EXPECT_EQ(fault_of_step("{finish: {artifact: {text: x}}}").path, "steps.s.finish.artifact");
  EXPECT_EQ(fault_of_step("{finish: {artifact: {name: x, text: y, type: z}}}").path, "steps.s.finish.artifact.type");
  EXPECT_EQ(fault_of_step("{finish: {output: {a: [1, '${{ ( }}']}}}").path, "steps.s.finish.output.a[1]");
  EXPECT_EQ(fault_of_step("{when: '.a)', exec: [x]}").path, "steps.s.when");
}

std::expected<Workflow, std::vector<Fault>> parse_start(const std::string& start) {
  return parse_text("name: w\nstart: " + start + "\nsteps: {s: {exec: [x]}}\n");
}

TEST(Parse, AStartIsAnOpWithItsRolesAndItsSchema) {
  EXPECT_FALSE(parse_text("name: w\nsteps: {s: {exec: [x]}}")->command.has_value());
  const auto plain = parse_start("{a2a: {command: report}}");
  ASSERT_TRUE(plain && plain->command);
  EXPECT_EQ(plain->command->op, "report");
  EXPECT_TRUE(plain->command->users && plain->command->agents && plain->command->schema.is_null());
  const auto narrow =
      parse_start("{a2a: {command: re_port.weekly-2, roles: [agent, operator], schema: {type: object}}}");
  ASSERT_TRUE(narrow && narrow->command);
  EXPECT_TRUE(!narrow->command->users && narrow->command->agents);
  EXPECT_EQ(narrow->command->schema, Json({{"type", "object"}}));
  const auto closed = parse_start("{a2a: {command: report, roles: [operator]}}");
  ASSERT_TRUE(closed && closed->command);
  EXPECT_FALSE(closed->command->users || closed->command->agents);
}

TEST(Parse, AFaultOfAStartSaysWhatWouldBeRight) {
  const auto fault_of = [](const std::string& start) {
    auto parsed = parse_start(start);
    EXPECT_FALSE(parsed.has_value()) << start;
    if (parsed) return Fault{};
    EXPECT_EQ(parsed.error().size(), 1U) << start;
    EXPECT_EQ(parsed.error().front().line, 2) << start;
    return parsed.error().front();
  };
  EXPECT_EQ(fault_of("report").path, "start");
  EXPECT_EQ(fault_of("{}").path, "start");
  const Fault kind = fault_of("{schedule: '0 9 * * 1'}");
  EXPECT_EQ(kind.path, "start.schedule");
  EXPECT_EQ(kind.expected, "one of a2a");
  EXPECT_EQ(fault_of("{a2a: report}").path, "start.a2a");
  EXPECT_EQ(fault_of("{a2a: {}}").path, "start.a2a");
  EXPECT_EQ(fault_of("{a2a: {command: report, role: [user]}}").path, "start.a2a.role");
  for (const char* roles : {"user", "[]"}) {
    EXPECT_EQ(fault_of(std::string("{a2a: {command: report, roles: ") + roles + "}}").path, "start.a2a.roles");
  }
  EXPECT_EQ(fault_of("{a2a: {command: report, roles: [user, admin]}}").path, "start.a2a.roles[1]");
  EXPECT_EQ(fault_of("{a2a: {command: report, schema: true}}").path, "start.a2a.schema");
  EXPECT_EQ(fault_of("{a2a: {command: 7}}").path, "start.a2a.command");
  const std::string longest(64, 'a');
  EXPECT_TRUE(parse_start("{a2a: {command: " + longest + "}}").has_value());
  // The last but one is the daemon's own.
  for (const std::string& name :
       {std::string("Report"), std::string("re port"), std::string("a..b"), std::string("a."), std::string(".a"),
        std::string("9a"), std::string("''"), std::string("_instance.start"), longest + "a"}) {
    EXPECT_EQ(fault_of("{a2a: {command: " + name + "}}").path, "start.a2a.command") << name;
  }
}

TEST(Parse, RefusesWhatIsNoWorkflow) {
  for (const char* text : {"[]", "name: w", "name: w\nsteps: {}", "name: w\nsteps: [a]", "steps: {a: {exec: [x]}}",
                           "name: w\ninputs: 5\nsteps: {a: {exec: [x]}}", "name: w\nsteps: {9a: {exec: [x]}}"}) {
    EXPECT_EQ(faults(text).size(), 1U) << text;
  }
  std::string many = "name: w\nsteps:\n";
  for (int i = 0; i < 257; ++i) many += "  s" + std::to_string(i) + ": {exec: [x]}\n";
  EXPECT_EQ(faults(many).front().path, "steps");
}

TEST(Examples, TheRepositoryReportIsAWorkflow) {
  const auto document = read_document(AGENTD_EXAMPLES "/repo-report/report.yaml");
  ASSERT_TRUE(document.has_value()) << to_string(document.error().front());
  const auto parsed = parse(*document);
  ASSERT_TRUE(parsed.has_value()) << to_string(parsed.error().front());
  EXPECT_EQ(parsed->steps.front().id, "look");
  EXPECT_EQ(parsed->steps.back().kind, StepSpec::Kind::kFinish);
}

TEST(WorkflowSchema, DescribesEveryKeyAndClosesEveryMapping) {
  const Json schema = workflow_schema();
  const Json& step = schema["properties"]["steps"]["additionalProperties"];
  EXPECT_EQ(schema["required"], Json({"name", "steps"}));
  EXPECT_EQ(step["additionalProperties"], false);
  EXPECT_EQ(step["properties"]["env"]["additionalProperties"]["type"].size(), 3U);
  EXPECT_EQ(step["properties"]["finish"]["properties"]["artifact"]["required"], Json({"name", "text"}));
  const Json& start = schema["properties"]["start"];
  EXPECT_EQ(start["additionalProperties"], false);
  EXPECT_EQ(start["properties"]["a2a"]["required"], Json::array({"command"}));
  EXPECT_EQ(start["properties"]["a2a"]["properties"]["command"]["maxLength"], 64);
  EXPECT_FALSE(step["properties"]["retries"]["description"].get<std::string>().empty());
}

}  // namespace
}  // namespace agentd::workflow
