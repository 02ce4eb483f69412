#include "base/json_writer.h"

#include <fmt/format.h>

#include <algorithm>

namespace agentd {

void append_quoted(std::string& out, std::string_view text) {
  const bool plain = std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\';
  });
  if (!plain) {
    out += quote_json(text);
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

void append_count(std::string& out, std::uint64_t number) {
  const fmt::format_int digits(number);
  out.append(digits.data(), digits.size());
}

void ObjectWriter::key(std::string_view name) {
  if (!first_) out_ += ',';
  first_ = false;
  append_quoted(out_, name);
  out_ += ':';
}

ObjectWriter& ObjectWriter::text(std::string_view name, std::string_view value) {
  key(name);
  append_quoted(out_, value);
  return *this;
}

ObjectWriter& ObjectWriter::count(std::string_view name, std::uint64_t value) {
  key(name);
  append_count(out_, value);
  return *this;
}

ObjectWriter& ObjectWriter::flag(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }

ObjectWriter& ObjectWriter::json(std::string_view name, const Json& value) { return raw(name, dump_json(value)); }

ObjectWriter& ObjectWriter::raw(std::string_view name, std::string_view json_text) {
  key(name);
  out_ += json_text;
  return *this;
}

ObjectWriter& ObjectWriter::nullable(std::string_view name, const std::optional<std::string>& value) {
  return value.has_value() ? text(name, *value) : raw(name, "null");
}

ObjectWriter& ObjectWriter::nullable(std::string_view name, const std::optional<std::uint64_t>& value) {
  return value.has_value() ? count(name, *value) : raw(name, "null");
}

ObjectWriter& ObjectWriter::counts(std::string_view name, const std::map<std::string, std::uint64_t>& values) {
  key(name);
  ObjectWriter members(out_);
  for (const auto& [member, number] : values) members.count(member, number);
  members.close();
  return *this;
}

ObjectWriter& ObjectWriter::texts(std::string_view name, const std::vector<std::string>& values) {
  key(name);
  out_ += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out_ += ',';
    append_quoted(out_, values[i]);
  }
  out_ += ']';
  return *this;
}

ObjectWriter& ObjectWriter::optional(std::string_view name, const std::optional<std::string>& value) {
  if (value.has_value()) text(name, *value);
  return *this;
}

}  // namespace agentd
