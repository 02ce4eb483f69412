// Json: the JSON value of the whole tree (nlohmann, members in insertion order), and the guarded way in.
//
// Bytes from outside go through parse_json only. It bounds size, depth and the members of one object
// (lookup in an ordered object is linear, so an object of 200,000 members would be a denial of service),
// and refuses what cannot be handed on unchanged: invalid UTF-8, lone surrogates, numbers that overflow.
// Thread rule: values. Cost: two passes over the text.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace agentd {

using Json = nlohmann::ordered_json;

struct JsonLimits {
  std::size_t bytes = 2U << 20U;
  std::size_t depth = 128;
  std::size_t members = 4096;  // of one object
};

// Errors: kParse, with the byte offset and the reason; kInvalidParams, with the member's path ("params.fromSeq"), for an
// integer past 64 bits, which is sound JSON but would come back as another number.
[[nodiscard]] Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

// One line, no raw newline. Invalid UTF-8 that one of our own objects holds is replaced by U+FFFD, so
// that output of a child process can never break a frame.
[[nodiscard]] std::string dump_json(const Json& value);

// A value that has been written already: valid JSON on one line, where building and dumping a Json would cost too much.
struct JsonText {
  explicit JsonText(std::string json) : text(std::move(json)) {}
  std::string text;
};

// The text as a JSON string literal with its quotes, under the same rule.
[[nodiscard]] std::string quote_json(std::string_view text);

// `value` cut to at most `bytes` bytes at a character boundary, ending in "…(+N bytes)" when cut.
[[nodiscard]] std::string cut_text(std::string_view value, std::size_t bytes);

// Invalid UTF-8 replaced by U+FFFD: what a child process printed, made fit for JSON.
[[nodiscard]] std::string to_utf8(std::string_view bytes);

}  // namespace agentd
