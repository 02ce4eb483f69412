// The one table of configuration keys. A row is a key: its type, its bounds, its default, where it stands in
// the Snapshot, and its text. Checks, AGENTD_… names, defaults, the JSON Schema and the effective document
// all come from here, so a new key is one row (and its member in config/snapshot.h).
//
// Immutable, any thread. Rows stand in the order in which they are shown; a section stands before its
// members. A path with "[]" is an item of a list: its slot is in the list's last element.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/snapshot.h"

namespace agentd::config {

enum class Type : std::uint8_t {
  kSection,    // a mapping of the rows below it; low..high members, where high is not 0
  kItems,      // a list of "…[]" sections; low..high of them, where high is not 0
  kNamed,      // a mapping of low..high names to "…[]" sections
  kWorkflows,  // a list of mappings, {file: PATH}, or paths of files and folders
  kString,     // low..high bytes
  kText,       // a string, or {file: PATH}
  kName,       // a-z, 0-9, _ and -, low..high of them
  kPath,       // of a file or folder, relative to the configuration's; "" = the default
  kPaths,      // low..high of them
  kUrl,        // http or https origin; "" = the default
  kBase,       // http or https URL without a query, that paths come after
  kWeb,        // http or https URL
  kEndpoint,   // a kBase, which is the only one of its list
  kEndpoints,  // as kItems; an item that is a text is its url
  kProgram,    // low..high bytes; the first of its list
  kArguments,  // low..high texts; the others of its list
  kVariables,  // of a program: names to texts, or to references as those of kSecret
  kHeaders,    // of HTTP: the same
  kListen,     // one address to listen on, or a list of them
  kList,       // strings: each one of `choices`, if there are any; low..high of them
  kOrigins,    // low..high origins of browsers, or one
  kChoice,     // one of `choices`; for the slot of an enumeration, in its order
  kBoolean,
  kTrue,      // true; for no, the key is left out
  kInteger,   // low..high
  kNumber,    // low..high, with a fraction or without
  kSize,      // low..high bytes, as "64MiB"
  kDuration,  // low..high milliseconds, as "30s"
  kRate,      // low..high at once, flowing back in kLeastRateMs..kMostRateMs, as "20/10s"
  kSecret,    // {env: NAME} or {file: PATH}
};

inline constexpr std::uint64_t kLeastRateMs = 1000;
inline constexpr std::uint64_t kMostRateMs = 86'400'000;

// Where a kVariables or kHeaders goes.
struct Variables {
  std::vector<std::pair<std::string, std::string>>* texts;
  std::vector<std::pair<std::string, Secret>>* secrets;
};

using Slot = std::variant<std::string*, bool*, std::uint64_t*, std::int64_t*, std::vector<std::string>*, double*,
                          std::optional<double>*, std::optional<Rate>*, std::optional<Secret>*, Role*, Provider*,
                          Approval*, Nobody*, std::vector<PrincipalRule>*, std::vector<Endpoint>*, std::vector<Price>*,
                          std::vector<McpServer>*, std::vector<Peer>*, Variables>;

enum class Flag : std::uint8_t {
  kNone,
  kRestart,   // a reload that touches it is refused whole
  kRequired,  // in its section
};

struct Row {
  std::string_view path;  // "" = the whole document
  Type type;
  Flag flag;
  Slot (*slot)(Snapshot&);    // nullptr for a section or the workflows
  std::string_view fallback;  // the default as it would be written; "" = none
  struct {
    std::uint64_t low = 0, high = 0;
  } bounds;
  std::string_view description;
  std::span<const std::string_view> choices = {};
};

[[nodiscard]] std::span<const Row> table();

// The row of a path: "a2a.principals[3].id" has that of "a2a.principals[].id". nullptr if there is
// none, and below a kNamed.
[[nodiscard]] const Row* find_row(std::string_view path);
// The section of each item of a list, or of a kNamed.
[[nodiscard]] const Row& item_of(const Row& list);
// The members of a section, in order.
[[nodiscard]] std::vector<const Row*> members_of(const Row& section);
// "ring" of "a2a.events.ring".
[[nodiscard]] std::string_view name_of(const Row& row);
// "a2a.events" and "ring" to "a2a.events.ring"; "" and "a2a" to "a2a".
[[nodiscard]] std::string join_path(std::string_view parent, std::string_view name);

// A key of the contract that this version does not have, so that nobody believes it works.
[[nodiscard]] bool is_unsupported(std::string_view path);

// "AGENTD_A2A_EVENTS_RING" of a2a.events.ring; "" of sections, lists and their items.
[[nodiscard]] std::string variable_of(const Row& row);

// What a value of the row looks like, for a fault: "an integer from 1 to 1000000".
[[nodiscard]] std::string expected_of(const Row& row);

// "10m" of 600000, "64MiB" of 67108864: the largest unit that divides it; "20/10s".
[[nodiscard]] std::string duration_text(std::uint64_t milliseconds);
[[nodiscard]] std::string size_text(std::uint64_t bytes);
[[nodiscard]] std::string rate_text(Rate rate);

}  // namespace agentd::config
