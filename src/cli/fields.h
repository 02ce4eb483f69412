// Reading members of a JSON value that came from elsewhere and may lack them or hold something else: the
// answer is then the empty value, never a throw. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"

namespace agentd::cli {

[[nodiscard]] const Json& member(const Json& value, const char* key);  // null when there is none
[[nodiscard]] std::string text_of(const Json& value, const char* key);
[[nodiscard]] std::uint64_t count_of(const Json& value, const char* key);
[[nodiscard]] bool flag_of(const Json& value, const char* key);

// "WORKING" of TASK_STATE_WORKING; "?" of anything else.
[[nodiscard]] std::string state_name(const Json& status);
// completed, failed, canceled or rejected.
[[nodiscard]] bool is_terminal(const std::string& state_name);
// Waits for a person: input or authentication required.
[[nodiscard]] bool is_interrupted(const std::string& state_name);

[[nodiscard]] bool has_text(const Json& parts);
// The words of message or artifact parts: text as it is, data as JSON (a command as its op and arguments),
// bytes and URLs by name.
[[nodiscard]] std::string words_of(const Json& parts);
// What was said last in a task: its status message, else its newest artifact with text, else the newest
// message of its history.
[[nodiscard]] std::string last_words(const Json& task);

}  // namespace agentd::cli
