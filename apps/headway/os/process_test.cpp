#include "os/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <system_error>

namespace headway::app {
namespace {

class process_test : public testing::Test {
 protected:
  struct ended {
    int status;
    std::string printed;
  };
  ended run(std::string const& script) {
    process one(events, "/bin/sh", {"sh", "-c", script}, {"NAME=value"});
    ended how{};
    for (;;)
      for (auto const& e : events.wait(never)) {
        EXPECT_TRUE(one.read(how.printed, 1 << 20));
        if (e.fd != one.end()) continue;
        auto const status = one.status();
        EXPECT_TRUE(status);
        how.status = status.value_or(-1);
        EXPECT_EQ(one.status(), std::nullopt) << "there is no more to wait for";
        return how;
      }
  }
  poller events;
};

TEST_F(process_test, what_it_prints_and_how_it_ends_is_told) {
  auto const well = run("printf '%s' \"$NAME\"; echo unheard >&2");
  EXPECT_TRUE(WIFEXITED(well.status) && WEXITSTATUS(well.status) == 0);
  EXPECT_EQ(well.printed, "value");
  EXPECT_EQ(WEXITSTATUS(run("exit 7").status), 7);
  EXPECT_EQ(WTERMSIG(run("kill -TERM $$").status), SIGTERM);
  EXPECT_EQ(run("yes | head -c 100000").printed.size(), 100'000U);
}

TEST_F(process_test, it_has_nothing_of_ours) {
  int const ours = ::open("/dev/null", O_RDONLY);  // to be inherited, for once
  EXPECT_EQ(run("ls /proc/self/fd | wc -l").printed, "4\n") << "three, and that of ls";
  EXPECT_EQ(run("wc -c").printed, "0\n");
  ::close(ours);
  signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(WTERMSIG(run("kill -PIPE $$").status), SIGPIPE);
  signal(SIGPIPE, SIG_DFL);
}

TEST_F(process_test, more_than_enough_is_not_read) {
  process endless(events, "/bin/sh", {"sh", "-c", "exec yes"}, {});
  std::string printed;
  while (endless.read(printed, 10'000)) events.wait(never);
  EXPECT_GT(printed.size(), 10'000U);
  EXPECT_LE(printed.size(), 10'000U + 4096);
}

TEST_F(process_test, all_that_it_started_ends_with_it) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  auto const path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(ends[1]);
  {
    process one(events, "/bin/sh", {"sh", "-c", "exec 3>" + path + "; sleep 1000 & echo; wait"},
                {});
    std::string printed;
    while (printed.empty()) {
      events.wait(never);
      one.read(printed, 100);
    }
    ::close(ends[1]);
  }
  pollfd other{.fd = ends[0], .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&other, 1, 5000), 1) << "nothing holds the other end";
  ::close(ends[0]);
}

TEST_F(process_test, a_program_that_is_not_there_is_told) {
  EXPECT_THROW(process(events, "/nonexistent", {"none"}, {}), std::system_error);
}

}  // namespace
}  // namespace headway::app
