#include "base/json.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

namespace agentd {
namespace {

// Walks the text once and builds nothing: it only says whether building is safe.
class Guard final : public nlohmann::json_sax<Json> {
 public:
  explicit Guard(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t& text) override {
    // An integer that fits neither 64-bit type would come back as a rounded double.
    if (text.find_first_of(".eE") != std::string::npos) return value();
    if (!big_integer) big_integer = path();
    return value();
  }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return refuse("binary value"); }
  bool start_object(std::size_t) override { return open(false); }
  bool key(string_t& name) override {
    Level& level = levels_.back();
    level.key = name;
    if (++level.count <= limits_.members) return true;
    return refuse(fmt::format("an object has more than {} members", limits_.members));
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(true); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    std::string_view why = e.what();
    if (const auto at = why.find("] "); at != std::string_view::npos) why.remove_prefix(at + 2);
    return refuse(fmt::format("at byte {}: {}", position, to_utf8(why)));
  }

  std::string reason;
  std::optional<std::string> big_integer;  // the path of one that no 64-bit type holds

 private:
  struct Level {
    bool array = false;
    std::size_t count = 0;  // members begun, or elements ended
    std::string key;
  };

  bool open(bool array) {
    levels_.push_back({.array = array});
    if (levels_.size() > limits_.depth) return refuse(fmt::format("deeper than {} levels", limits_.depth));
    return true;
  }
  bool close() {
    levels_.pop_back();
    return value();
  }
  // A value has ended: it was one more element of the array around it.
  bool value() {
    if (!levels_.empty() && levels_.back().array) ++levels_.back().count;
    return true;
  }
  [[nodiscard]] std::string path() const {
    std::string out;
    for (const Level& level : levels_) {
      if (level.array) {
        out += fmt::format("[{}]", level.count);
      } else {
        out += (out.empty() ? "" : ".") + level.key;
      }
    }
    return out;
  }
  bool refuse(std::string why) {
    reason = std::move(why);
    return false;
  }

  const JsonLimits& limits_;
  std::vector<Level> levels_;
};

// The length of the valid UTF-8 sequence at the front of `text`, or 0.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  }
  if (length == 0 || text.size() < length || byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    return fail(Code::kParse, fmt::format("not read: longer than {} bytes", limits.bytes));
  }
  Guard guard(limits);
  if (!Json::sax_parse(text, &guard)) return fail(Code::kParse, "not JSON: " + guard.reason);
  if (guard.big_integer) {
    return std::unexpected(Error{.code = Code::kInvalidParams,
                                 .message = *guard.big_integer + " is an integer past 64 bits",
                                 .violations = {{*guard.big_integer, "must be an integer of at most 64 bits"}}});
  }
  return Json::parse(text);
}

std::string dump_json(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string quote_json(std::string_view text) { return dump_json(Json(std::string(text))); }

std::string cut_text(std::string_view value, std::size_t bytes) {
  if (value.size() <= bytes) return std::string(value);
  std::size_t end = bytes;
  while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0U) == 0x80U) --end;
  return fmt::format("{}…(+{} bytes)", value.substr(0, end), value.size() - end);
}

std::string to_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      bytes.remove_prefix(1);
    } else {
      out += bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
  }
  return out;
}

}  // namespace agentd
