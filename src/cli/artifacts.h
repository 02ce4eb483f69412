// Writing artifacts into a folder. Names come from the agent, so they are taken apart first: only the last
// component counts, nothing begins with a dot, no control characters, at most 120 bytes; an existing file is
// never written over (name-2.md is taken instead) and no symbolic link is followed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace agentd::cli {

// A name that stays within its folder, "artifact" if nothing of `wanted` is usable.
[[nodiscard]] std::string safe_file_name(std::string_view wanted);

// Standard or URL-safe base64, padded or not. Error kParse.
[[nodiscard]] Result<std::string> decode_base64(std::string_view text);

// Makes `folder` if need be and writes every part of every artifact as a file of its own, links excepted. The
// paths written, in order. Errors: kConfig (the folder), kParse (bytes that are no base64), kInternal (the
// disk).
[[nodiscard]] Result<std::vector<std::string>> write_artifacts(const std::vector<Json>& artifacts,
                                                               const std::string& folder);

}  // namespace agentd::cli
