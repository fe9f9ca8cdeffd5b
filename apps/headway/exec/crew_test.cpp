#include "exec/crew.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <utility>

#include "base/clock.hpp"
#include "exec/descendants.hpp"

namespace headway::app {
namespace {

struct crew_test : testing::Test {
  crew_test() { become_subreaper(); }

  std::uint32_t start(std::string script, std::optional<std::string> const& input = {}) {
    auto const index = tasks.add();
    auto const place = them.place(running++);
    EXPECT_TRUE(place);
    EXPECT_TRUE(them.start(*place, index,
                           {.program = "/bin/sh", .arguments = {"sh", "-c", std::move(script)}},
                           input));
    them.listen(index);
    return index;
  }
  void wait_for(int ends) {
    while (ended < ends)
      for (auto const& e : events.wait(never)) them.ready(e);
  }

  poller events{};
  task_table tasks{};
  std::string printed{};
  int ended = 0, running = 0;
  std::optional<command_end> last{};
  bool lives_on = false;
  crew them{events,
            tasks,
            4,
            {.printed = [this](spool&, std::string_view bytes) { printed += bytes; },
             .ended =
                 [this](std::uint32_t index, std::optional<command_end> how) {
                   ++ended;
                   last = how;
                   lives_on = them.drain(tasks[index]);
                   tasks[index].pipes.close();
                 }}};
};

TEST_F(crew_test, a_command_prints_and_ends) {
  start("read x; echo $x; exit 3", "hello\n");
  wait_for(1);
  EXPECT_EQ(printed, "hello\n");
  ASSERT_TRUE(last);
  EXPECT_EQ(WEXITSTATUS(last->status), 3);
  EXPECT_FALSE(lives_on);
}

TEST_F(crew_test, a_place_is_used_again) {
  for (int n = 1; n <= 3; ++n) {
    start("echo .");
    wait_for(n);
    running = 0;
  }
  EXPECT_EQ(printed, ".\n.\n.\n");
  EXPECT_TRUE(them.busy().empty());
}

TEST_F(crew_test, what_is_told_to_end_is_killed_if_it_does_not) {
  auto const index = start("trap '' TERM; echo ready; while :; do sleep 1; done");
  while (printed.empty())
    for (auto const& e : events.wait(never)) EXPECT_TRUE(them.ready(e));
  auto& t = tasks[index];
  EXPECT_EQ(them.wakeup(), never);
  auto const now = clock_now();
  them.terminate(now, t, "told");
  them.terminate(now, t, "told again");
  EXPECT_EQ(t.ended_by, "told");
  EXPECT_GT(them.wakeup(), now);
  them.end_late(them.wakeup(), "late");
  wait_for(1);
  ASSERT_TRUE(last);
  EXPECT_TRUE(WIFSIGNALED(last->status));
  EXPECT_EQ(WTERMSIG(last->status), SIGKILL);
}

TEST_F(crew_test, what_is_late_is_told_to_end) {
  auto const index = start("sleep 1000");
  auto const now = clock_now();
  tasks[index].kill_at = now;
  them.end_late(now - 1ns, "late");
  EXPECT_EQ(tasks[index].ended_by, "");
  them.end_late(now, "late");
  EXPECT_EQ(tasks[index].ended_by, "late");
  EXPECT_FALSE(tasks[index].cut_short);
  wait_for(1);
  ASSERT_TRUE(last);
  EXPECT_EQ(WTERMSIG(last->status), SIGTERM);
}

TEST_F(crew_test, when_all_are_to_end_no_end_is_a_result) {
  for (int n = 0; n < 2; ++n) start("sleep 1000");
  EXPECT_EQ(them.busy().size(), 2U);
  them.terminate_all(clock_now(), "all");
  wait_for(2);
  for (std::uint32_t const i : {0U, 1U}) EXPECT_TRUE(tasks[i].cut_short);
}

TEST_F(crew_test, a_guard_that_is_killed_gives_its_place_to_another) {
  start("sleep 1000");
  ASSERT_EQ(them.busy().size(), 1U);
  ::kill(them.busy().front(), SIGKILL);
  wait_for(1);
  EXPECT_FALSE(last);
  running = 0;
  start("echo again");
  wait_for(2);
  EXPECT_EQ(printed, "again\n");
}

}  // namespace
}  // namespace headway::app
