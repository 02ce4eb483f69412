// Reader: walks a document along the table, checks each value against its row, and puts it into a Snapshot.
//
// It goes on after a fault, so that one load reports them all. Confined to one load.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "config/report.h"
#include "config/table.h"

namespace agentd::config {

class Reader final {
 public:
  // All of them outlive the reader.
  Reader(const Document& document, const Environment& env, Snapshot& snapshot, Report& report);

  void read();
  // The servers of another document: `value` stands at `path` in it, and is in the form of `mcp.servers`.
  void read_servers(const Json& value, const std::string& path);

 private:
  void read_value(const Row& row, const Json& value, const std::string& path);
  void read_section(const Row& row, const Json& value, const std::string& path);
  void read_items(const Row& row, const Json& value, const std::string& path);
  void read_named(const Row& row, const Json& value, const std::string& path);
  void read_variables(const Row& row, const Json& value, const std::string& path);
  void read_variable(const Row& row, const std::string& name, const Json& value, const std::string& path);
  void read_workflow_list(const Row& row, const Json& value, const std::string& path);
  void read_string(const Row& row, const Json& value, const std::string& path);
  void read_name(const Row& row, const Json& value, const std::string& path);
  void read_text_or_file(const Row& row, const Json& value, const std::string& path);
  void read_path(const Row& row, const Json& value, const std::string& path);
  void read_paths(const Row& row, const Json& value, const std::string& path);
  void read_url(const Row& row, const Json& value, const std::string& path);
  void read_addresses(const Row& row, const Json& value, const std::string& path);
  void read_list(const Row& row, const Json& value, const std::string& path);
  void read_choice(const Row& row, const Json& value, const std::string& path);
  void read_boolean(const Row& row, const Json& value, const std::string& path);
  void read_integer(const Row& row, const Json& value, const std::string& path);
  void read_number(const Row& row, const Json& value, const std::string& path);
  void read_size(const Row& row, const Json& value, const std::string& path);
  void read_duration(const Row& row, const Json& value, const std::string& path);
  void read_rate(const Row& row, const Json& value, const std::string& path);
  void read_secret_value(const Row& row, const Json& value, const std::string& path);

  // The secret referred to; nothing after a fault.
  std::optional<Secret> secret_of(const Json& value, const std::string& path);

  void unknown(const Row& section, const std::string& name, const std::string& path);
  void wrong(const Row& row, const std::string& path, std::string message);
  // Checks the row's bounds; false after a fault.
  bool in_range(const Row& row, const std::string& path, std::uint64_t value);
  // Checks the number of a list's items; false after a fault.
  bool is_list(const Row& row, const Json& value, const std::string& path);
  // Makes room for one more item of the list.
  void append(const Row& list);
  template <class T>
  void put(const Row& row, T value);

  const Document& document_;
  const Environment& env_;
  const std::filesystem::path folder_;
  Snapshot& snapshot_;
  Report& report_;
};

}  // namespace agentd::config
