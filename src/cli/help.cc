#include "cli/help.h"

namespace agentd::cli {

const Help kTopHelp{.about = "Runs an AI agent, and lets everyone who may see it watch all of it, live.",
                    .usage = "COMMAND [OPTIONS]",
                    .examples = R"(Exit codes:
  0    done; 'events' ended by Ctrl-C is done too
  1    it failed
  2    the command line or the configuration is wrong
  3    the daemon cannot be reached
  4    the daemon refuses (401, 403), a sign-in was denied, or the session was revoked
  5    send, demo: the task ended failed, rejected or canceled
  130  interrupted by Ctrl-C

Environment:
  AGENTD_CONFIG  the configuration file of serve and check
  AGENTD_URL     the daemon that all but serve, check and demo talk to: http://, https:// or unix:///PATH
  AGENTD_CA      the CA of its certificate, a file in PEM
  AGENTD_TOKEN   the bearer token that they send, in place of that of 'agentd login'
  NO_COLOR       no colours)"};

const Help kServeHelp{.about = "Runs the daemon in the foreground until SIGTERM or Ctrl-C.",
                      .usage = "serve [-c FILE] [--edges N] [--no-io-uring]",
                      .examples = R"(Examples:
  agentd serve                     the defaults: http://127.0.0.1:8420, a scripted model
  agentd serve -c agentd.yaml)"};

const Help kCheckHelp{.about = "Says what is wrong with a configuration, each fault with its line, and runs nothing.",
                      .usage = "check [--output json] [FILE | -c FILE]",
                      .examples = R"(Examples:
  agentd check agentd.yaml)"};

const Help kSendHelp{
    .about = "Sends a message to the agent, or runs a workflow. Progress goes to stderr, the answer to stdout.",
    .usage = "send [OPTIONS] TEXT...",
    .examples = R"(TEXT '-' is read from stdin. After '--' everything is text.

Examples:
  agentd send What changed this week?
  git diff | agentd send --context review -
  agentd send --task ID yes, go ahead
  agentd send --workflow repo-report --input dir=. --out reports)"};

const Help kTasksHelp{.about = "Lists tasks, newest first.",
                      .usage = "tasks [OPTIONS] | tasks show ID | tasks cancel ID",
                      .examples = R"(Examples:
  agentd tasks --state input-required
  agentd tasks show ID
  agentd tasks cancel ID)"};

const Help kTasksShowHelp{.about = "Shows one task: its state, its messages, its artifacts.",
                          .usage = "tasks show ID [OPTIONS]",
                          .examples = {}};

const Help kTasksCancelHelp{
    .about = "Cancels one task and what works for it.", .usage = "tasks cancel ID [OPTIONS]", .examples = {}};

const Help kEventsHelp{
    .about =
        "Follows everything that happens, one line per event, over cuts and restarts, until Ctrl-C. What "
        "became of the connection goes to stderr.",
    .usage = "events [OPTIONS]",
    .examples = R"(Examples:
  agentd events
  agentd events --kinds task,run
  agentd events --json | jq 'select(.event.kind == "audit")')"};

const Help kStatusHelp{.about = "Says how the daemon is, what it works on, and how its newest runs are.",
                       .usage = "status [OPTIONS]",
                       .examples = {}};

const Help kPsHelp{
    .about = "Shows what the daemon works on now: turns, runs and their processes, subagents, with age and tokens.",
    .usage = "ps [OPTIONS]",
    .examples = R"(Examples:
  agentd ps
  agentd ps --json | jq '.runs[].children[].pid')"};

const Help kPauseHelp{.about =
                          "Starts no step and no round of a turn until 'agentd resume'. What has started goes on, "
                          "messages are taken and wait.",
                      .usage = "pause [--run RUN] [--reason TEXT] [OPTIONS]",
                      .examples = R"(Examples:
  agentd pause --reason "the disk is full"
  agentd pause --run run-96c56098eec2db16)"};

const Help kResumeHelp{
    .about = "Goes on after 'agentd pause'.", .usage = "resume [--run RUN] [OPTIONS]", .examples = {}};

const Help kDrainHelp{
    .about =
        "Takes no more work, and ends the daemon when the work there is has ended, in 10 minutes at the latest. "
        "Where something restarts it when it ends, this is a restart.",
    .usage = "drain [--reason TEXT] [OPTIONS]",
    .examples = {}};

const Help kSetHelp{.about = "Changes a setting of the daemon until its next reload.",
                    .usage = "set PATH VALUE [OPTIONS]",
                    .examples = R"(VALUE is read as JSON, and is a text where it is none.

Examples:
  agentd set a2a.introspection.enabled true)"};

const Help kConfigHelp{.about = "Prints the configuration that holds now, every key with its value; secrets as ***.",
                       .usage = "config [OPTIONS]",
                       .examples = {}};

const Help kCompletionHelp{
    .about = "Prints the script with which a shell completes commands, options, and the ids that the daemon knows.",
    .usage = "completion bash|zsh",
    .examples = R"(In ~/.bashrc:
  source <(agentd completion bash)
In ~/.zshrc, after compinit:
  source <(agentd completion zsh))"};

const Help kLoginHelp{
    .about =
        "Signs in to a daemon: shows a code, waits until an operator has approved it, and keeps the token in "
        "~/.config/agentd/credentials.json for the other commands.",
    .usage = "login [OPTIONS]",
    .examples = R"(Examples:
  agentd login
  agentd login --url https://agent.example --scope operator)"};

const Help kLogoutHelp{.about = "Ends the session of 'agentd login' and forgets its token.",
                       .usage = "logout [--url URL]",
                       .examples = {}};

const Help kDevicesHelp{.about = "Lists the sign-ins that wait for an operator's approval, oldest first.",
                        .usage = "devices [OPTIONS] | devices approve CODE --as NAME | devices deny CODE",
                        .examples = R"(Examples:
  agentd devices approve BCDF-GHJK --as alice
  agentd devices deny --all)"};

const Help kDevicesApproveHelp{
    .about =
        "Approves a sign-in. Sessions of one NAME are one person: what is theirs, each of them sees. Compare the "
        "code with the one on the device, and approve none that you did not expect.",
    .usage = "devices approve CODE --as NAME [OPTIONS]",
    .examples = {}};

const Help kDevicesDenyHelp{.about = "Denies a sign-in that waits, or all of them.",
                            .usage = "devices deny CODE | --all [OPTIONS]",
                            .examples = {}};

const Help kSessionsHelp{
    .about = "Lists who is signed in.", .usage = "sessions [OPTIONS] | sessions revoke SID", .examples = R"(Examples:
  agentd sessions
  agentd sessions revoke --name alice)"};

const Help kSessionsRevokeHelp{
    .about = "Ends sessions at once: their next request is refused, and their streams are closed.",
    .usage = "sessions revoke SID | --name NAME | --all [OPTIONS]",
    .examples = {}};

const Help kDemoHelp{.about =
                         "Starts a daemon of its own in a temporary folder, runs a workflow that reports on "
                         "DIR, shows each event "
                         "as it comes, then the report, and leaves nothing behind.",
                     .usage = "demo [DIR] [OPTIONS]",
                     .examples = R"(Examples:
  agentd demo
  agentd demo ~/src/project)"};

}  // namespace agentd::cli
