// Config: what the tests of this folder share: a temporary folder with a configuration file, and an
// environment.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/ids.h"
#include "config/snapshot.h"

namespace agentd::config {

constexpr const char* kCanary = "c4n4ry-5ecret";
using Texts = std::vector<std::string>;

// A folder of its own with an agentd.yaml, and an environment.
class Config : public testing::Test {
 protected:
  Config() : folder_(std::filesystem::path(testing::TempDir()) / ("config" + random_hex(8))) {
    std::filesystem::create_directory(folder_);
  }
  ~Config() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, std::string_view text, mode_t mode = 0600) {
    const std::filesystem::path file = folder_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    ::chmod(file.c_str(), mode);
    return file;
  }

  std::expected<Snapshot, std::vector<Fault>> load_text(std::string_view text) {
    return load({.file = write("agentd.yaml", text), .env = env_});
  }

  Snapshot good(std::string_view text) {
    auto snapshot = load_text(text);
    if (snapshot) return *std::move(snapshot);
    for (const Fault& fault : snapshot.error()) ADD_FAILURE() << to_string(fault);
    return {};
  }

  // The faults as "line:column path: message; expected …", without the file's name; none may tell the canary.
  std::vector<std::string> faults(std::string_view text) {
    const auto snapshot = load_text(text);
    std::vector<std::string> out;
    if (snapshot) return out;
    EXPECT_EQ(dump_json(faults_to_json(snapshot.error())).find(kCanary), std::string::npos);
    for (const Fault& fault : snapshot.error()) {
      std::string line = to_string(fault);
      const std::string prefix = folder_.string() + "/agentd.yaml:";
      if (line.starts_with(prefix)) line = line.substr(prefix.size());
      out.push_back(std::move(line));
    }
    return out;
  }

  std::filesystem::path folder_;
  Environment env_ = {{"HOME", "/h/someone"}};
};

}  // namespace agentd::config
