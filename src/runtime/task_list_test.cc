#include "runtime/task_list.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace agentd::runtime {
namespace {

TaskIndex task(std::string id, std::vector<std::int64_t> times) {
  return {.id = std::move(id),
          .principal = "p",
          .context = "c",
          .created_ms = times.front(),
          .status_times = std::move(times)};
}

std::vector<const TaskIndex*> pointers(const std::vector<TaskIndex>& tasks) {
  std::vector<const TaskIndex*> out;
  for (const TaskIndex& t : tasks) out.push_back(&t);
  return out;
}

TEST(TaskList, TokensRoundTripAndRefuseWhatTheyDidNotMake) {
  const PagePosition position{.as_of_ms = 5, .status_ms = 3, .id = "a.b"};
  const auto back = from_token(to_token(position));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->as_of_ms, 5);
  EXPECT_EQ(back->id, "a.b");
  for (const char* bad : {"", "1", "1.2", "1.2.", "x.2.a", "1.99999999999999999999.a"})
    EXPECT_FALSE(from_token(bad)) << bad;
}

TEST(TaskList, IsNewestFirstAndCountsWhatMatches) {
  const std::vector<TaskIndex> tasks = {task("a", {1, 9}), task("b", {5}), task("c", {5}), task("later", {20})};
  const Selection page = select_page(pointers(tasks), {.page_size = 2}, 10, {});
  EXPECT_EQ(page.ids, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(page.total, 3U);
  ASSERT_TRUE(page.next);
  EXPECT_EQ(select_page(pointers(tasks), {.page_size = 2}, 10, page.next).ids, std::vector<std::string>{"c"});
}

// Tasks change between pages; whoever pages still sees each task that was there, once.
TEST(TaskList, PagesNeitherSkipNorRepeatWhileTasksMove) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<TaskIndex> tasks;
    for (int i = 0; i < 30; ++i)
      tasks.push_back(task("t" + std::to_string(i), {static_cast<std::int64_t>(random() % 50)}));
    std::int64_t now = 50;
    std::multiset<std::string> seen;
    std::optional<PagePosition> after;
    do {
      const Selection page = select_page(pointers(tasks), {.page_size = 1 + random() % 7}, 50, after);
      seen.insert(page.ids.begin(), page.ids.end());
      after = page.next;
      for (int change = 0; change < 5; ++change) tasks[random() % tasks.size()].status_times.push_back(++now);
      tasks.push_back(task("new" + std::to_string(now), {now}));
    } while (after);
    EXPECT_EQ(seen.size(), 30U);
    for (int i = 0; i < 30; ++i) EXPECT_EQ(seen.count("t" + std::to_string(i)), 1U);
  }
}

}  // namespace
}  // namespace agentd::runtime
