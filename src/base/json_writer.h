// ObjectWriter, ArrayWriter: JSON appended to a text, member by member and item by item, without building a value first.
//
//   ObjectWriter run(out);
//   run.text("id", payload.id).count("tokens", payload.tokens);
//   run.close();
//
// Not copied; lives on the stack of the one thread that writes. Cost: for plain
// ASCII one append per member, an order of magnitude below building and dumping a Json.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace agentd {

// `text` as a JSON string literal; the same bytes as quote_json.
void append_quoted(std::string& out, std::string_view text);
void append_count(std::string& out, std::uint64_t number);

class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
  void close() { out_ += '}'; }

  // Opens a member whose value the caller appends.
  void key(std::string_view name);

  ObjectWriter& text(std::string_view name, std::string_view value);
  ObjectWriter& count(std::string_view name, std::uint64_t value);
  ObjectWriter& flag(std::string_view name, bool value);
  ObjectWriter& json(std::string_view name, const Json& value);
  ObjectWriter& raw(std::string_view name, std::string_view json_text);
  ObjectWriter& nullable(std::string_view name, const std::optional<std::string>& value);  // nothing is null
  ObjectWriter& nullable(std::string_view name, const std::optional<std::uint64_t>& value);
  ObjectWriter& optional(std::string_view name,
                         const std::optional<std::string>& value);  // nothing is left out
  ObjectWriter& counts(std::string_view name, const std::map<std::string, std::uint64_t>& values);
  ObjectWriter& texts(std::string_view name, const std::vector<std::string>& values);

 private:
  std::string& out_;
  bool first_ = true;
};

// An array, item by item: next(), then the item is appended by whoever writes it.
class ArrayWriter {
 public:
  explicit ArrayWriter(std::string& out) : out_(out) { out_ += '['; }
  void next() {
    if (!std::exchange(first_, false)) out_ += ',';
  }
  void close() { out_ += ']'; }

 private:
  std::string& out_;
  bool first_ = true;
};

}  // namespace agentd
