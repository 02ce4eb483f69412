// What a configuration refers to outside of itself: secrets, texts and workflows in files and variables.
//
// Errors say what is wrong with the thing referred to and quote nothing of the reference: a token put there
// by mistake must not come out in a message. The caller knows the place.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/report.h"
#include "config/snapshot.h"

namespace agentd::config {

inline constexpr std::string_view kFromFile = "file ";  // begins the source of a secret that is in one

// Where relative paths of a configuration start: its folder, or the current one for embedded defaults.
[[nodiscard]] std::filesystem::path folder_of(const std::string& file);
// An absolute, normal path.
[[nodiscard]] std::string resolve_path(const std::filesystem::path& folder, const std::string& path);

// The value of {env: NAME} or {file: PATH}; for a file without its last line end. Errors (kConfig): a
// literal, unset, empty, unreadable, open to every user of the machine, more than one line.
[[nodiscard]] Result<Secret> read_secret(const Json& reference, const Environment& env,
                                         const std::filesystem::path& folder);

// The UTF-8 text of a regular file of at most `most` bytes. Errors: kConfig.
[[nodiscard]] Result<std::string> read_text(const std::string& path, std::size_t most);

// The files and folders that the list `workflows` names.
[[nodiscard]] std::vector<std::string> workflow_paths(const Json& list, const std::filesystem::path& folder);

// The documents of the list `workflows`: of an inline one, `marks` are those below it, with paths from its
// own root.
[[nodiscard]] std::vector<Document> read_workflows(const Json& list, const Document& main,
                                                   const std::filesystem::path& folder, Report& report);

}  // namespace agentd::config
