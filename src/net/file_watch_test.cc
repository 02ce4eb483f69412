#include "net/file_watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/ids.h"

namespace agentd::net {
namespace {

namespace fs = std::filesystem;

class FileWatchTest : public testing::Test {
 protected:
  FileWatchTest() : folder_(fs::path(testing::TempDir()) / ("watch" + random_hex(8))) {
    fs::create_directories(folder_ / "flows");
    write("agentd.yaml", "one");
  }
  ~FileWatchTest() override { fs::remove_all(folder_); }

  void write(const std::string& name, std::string_view text) const { std::ofstream(folder_ / name) << text; }

  void watch() { watch_.watch({folder_ / "agentd.yaml", folder_ / "flows"}); }

  // Whether it is told of what `change` does. What it is not told of is known by the silence of three quiet times.
  template <class Change>
  int told_of(Change change) {
    watch();
    told_ = 0;
    loop_.post(std::move(change));
    silence_.arm(300, [this] { loop_.stop(); });
    loop_.run();
    return told_;
  }

  fs::path folder_;
  Loop loop_;
  int told_ = 0;
  Timer silence_{loop_};
  FileWatch watch_{loop_, [this] { ++told_; }};
};

TEST_F(FileWatchTest, EveryWayOfSavingIsToldOnce) {
  EXPECT_EQ(told_of([&] { write("agentd.yaml", "two"); }), 1);
  EXPECT_EQ(told_of([&] {
              write("agentd.yaml.new", "three");
              fs::rename(folder_ / "agentd.yaml.new", folder_ / "agentd.yaml");
            }),
            1);
  EXPECT_EQ(told_of([&] {
              fs::remove(folder_ / "agentd.yaml");
              write("agentd.yaml", "four");
              write("agentd.yaml", "five");
            }),
            1);
  EXPECT_EQ(told_of([&] { write("flows/a.yaml", "name: a"); }), 1);
  EXPECT_EQ(told_of([&] { fs::remove(folder_ / "flows/a.yaml"); }), 1);
}

TEST_F(FileWatchTest, ALinkThatPointsElsewhereIsAChange) {
  fs::create_directory(folder_ / "v1");
  fs::create_directory(folder_ / "v2");
  write("v1/agentd.yaml", "one");
  write("v2/agentd.yaml", "two");
  fs::create_directory_symlink("v1", folder_ / "data");
  fs::remove(folder_ / "agentd.yaml");
  fs::create_symlink("data/agentd.yaml", folder_ / "agentd.yaml");
  EXPECT_EQ(told_of([&] { write("v1/agentd.yaml", "one more"); }), 1) << "where the links lead";
  EXPECT_EQ(told_of([&] {
              fs::create_directory_symlink("v2", folder_ / "next");
              fs::rename(folder_ / "next", folder_ / "data");
            }),
            1);
  EXPECT_EQ(told_of([&] { write("v2/agentd.yaml", "two more"); }), 1) << "where they lead now";
}

TEST_F(FileWatchTest, WhatIsNotWholeAndWhatIsNotOursIsNotTold) {
  std::ofstream open(folder_ / "agentd.yaml", std::ios::trunc);
  EXPECT_EQ(told_of([&] { open << "half" << std::flush; }), 0);
  EXPECT_EQ(told_of([&] { open.close(); }), 1);
  EXPECT_EQ(told_of([&] { write("other.yaml", "x"); }), 0);
}

TEST_F(FileWatchTest, AFileThatComesLaterIsToldOf) {
  fs::remove(folder_ / "agentd.yaml");
  EXPECT_EQ(told_of([&] { write("agentd.yaml", "back"); }), 1);
}

}  // namespace
}  // namespace agentd::net
