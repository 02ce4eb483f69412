// `agentd completion`, the script for a shell, and `agentd complete`, which that script runs at each press of the key: it prints
// what may stand at the end of the line, one word on each line, as a shell would have to read it.
#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/fields.h"
#include "cli/op.h"
#include "cli/printable.h"
#include "client/launch.h"

namespace agentd::cli {
namespace {

// Somebody waits for the key. What does not come in time is not offered.
constexpr client::Deadlines kDeadlines{.connect_ms = 500, .silence_ms = 1'000, .total_ms = 1'500};
constexpr int kNewestTasks = 100;

constexpr std::string_view kScript = R"(_agentd() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(
    command agentd complete "${COMP_WORDS[@]:1:$COMP_CWORD}" 2>/dev/null </dev/null)
}
complete -o default -F _agentd agentd
)";

struct IdsRow {
  Ids ids;
  const char* op;    // nullptr: ListTasks
  const char* list;  // of its answer
  const char* id;    // of an entry
};
constexpr std::array<IdsRow, 7> kIds = {{{Ids::kTasks, nullptr, "tasks", "id"},
                                         {Ids::kContexts, "status", "conversations", "contextId"},
                                         {Ids::kRuns, "status", "runs", "id"},
                                         {Ids::kWorkflows, "status", "workflows", "name"},
                                         {Ids::kUserCodes, "auth.device.pending", "pending", "user_code"},
                                         {Ids::kSessions, "auth.sessions", "sessions", "sid"},
                                         {Ids::kSessionNames, "auth.sessions", "sessions", "name"}}};

std::vector<std::string> ids_of(const CompleteOptions& options, Console console) {
  const auto* row = std::ranges::find(kIds, options.ids, &IdsRow::ids);
  if (row == kIds.end()) return {};
  const auto endpoint = client::endpoint_of(options.daemon, console.credentials, console.stop);
  if (!endpoint) return {};
  const client::Rpc rpc(*endpoint, console.stop);
  const auto answer =
      row->op != nullptr
          ? run_op(rpc, {{"op", row->op}}, kDeadlines)
          : rpc.call({.method = "ListTasks", .params = {{"pageSize", kNewestTasks}}, .deadlines = kDeadlines});
  std::vector<std::string> ids;
  if (!answer) return ids;
  const Json& list = member(*answer, row->list);
  if (!list.is_array()) return ids;
  for (const auto& one : list) ids.push_back(text_of(one, row->id));
  return ids;
}

// An id is chosen by somebody else. One that a terminal would obey is not shown, and one that would be read as an option
// is not put into a command line.
bool is_harmless(const std::string& id) { return !id.empty() && id.front() != '-' && one_line(id) == id; }

// What a shell reads as this one word. The characters at which bash would break a line into words are quoted too.
std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "+,-./@_%";
  std::string out;
  for (const char c : word) {
    const bool plain =
        static_cast<unsigned char>(c) >= 0x80 || std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.contains(c);
    if (!plain) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

int run_completion(const CompletionOptions& options, Console console) {
  if (options.shell == "zsh") console.out.line("autoload -U +X bashcompinit && bashcompinit");
  console.out.text(kScript);
  return kOk;
}

int run_complete(const CompleteOptions& options, Console console) {
  std::set<std::string> words;
  for (const auto& word : options.words) words.insert(shell_word(word));
  for (const auto& id : ids_of(options, console)) {
    if (is_harmless(id)) words.insert(shell_word(id));
  }
  for (const auto& word : words) {
    if (word.starts_with(options.prefix)) console.out.line(word);
  }
  return kOk;
}

}  // namespace agentd::cli
