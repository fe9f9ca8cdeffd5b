#include "exec/guard.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <sstream>
#include <string>

#include "exec/descendants.hpp"
#include "os/file.hpp"

namespace headway::app {
namespace {

class guard_test : public testing::Test {
 protected:
  struct ended {
    command_end how;
    std::string printed;
  };

  static command_start command(std::string script) {
    return {.program = "/bin/sh", .arguments = {"sh", "-c", std::move(script)}};
  }

  /// Starts it; its output is then in a pipe.
  void start(guard& g, command_start c) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    file const null(::open("/dev/null", O_RDWR | O_CLOEXEC), "/dev/null");
    c.input = c.error = c.hints = null.fd();
    c.output = ends[1];
    EXPECT_TRUE(g.start(c));
    ::close(ends[1]);
    output_ = ends[0];
  }

  ended wait(guard& g) {
    ended e;
    std::optional<command_end> how;
    while (!(how = g.end()) && !g.gone()) {
      pollfd ready{g.fd(), POLLIN, 0};
      ::poll(&ready, 1, -1);
    }
    e.how = how.value_or(command_end{.error = -1});
    pollfd closes{output_, POLLIN, 0};
    EXPECT_EQ(::poll(&closes, 1, 20'000), 1) << "something that it started still has its output";
    std::array<char, 4096> block;
    ::fcntl(output_, F_SETFL, O_NONBLOCK);
    for (ssize_t n = 0; (n = ::read(output_, block.data(), block.size())) > 0;)
      e.printed.append(block.data(), static_cast<std::size_t>(n));
    ::close(output_);
    return e;
  }

  ended run(command_start c) {
    guard g;
    start(g, std::move(c));
    return wait(g);
  }

  int output_ = -1;
};

TEST_F(guard_test, tells_how_a_command_ended_and_serves_the_next) {
  guard g;
  for (int const exit : {0, 3, 255}) {
    start(g, command("echo $1; exit " + std::to_string(exit)));
    auto const e = wait(g);
    EXPECT_EQ(e.how.error, 0);
    EXPECT_TRUE(WIFEXITED(e.how.status));
    EXPECT_EQ(WEXITSTATUS(e.how.status), exit);
    EXPECT_EQ(e.printed, "\n");
  }
}

TEST_F(guard_test, what_cannot_be_started_is_an_error) {
  EXPECT_EQ(run({.program = "/no/such", .arguments = {"x"}}).how.error, ENOENT);
  EXPECT_EQ(run({.program = "/bin/true", .arguments = {"x", std::string(200'000, 'x')}}).how.error,
            E2BIG);
}

TEST_F(guard_test, a_command_has_its_own_session_no_signal_blocked_and_the_given_environment) {
  auto c = command("echo $NAME $(ps -o sid= -p $$) $$; grep -E 'Sig(Blk|Ign)' /proc/self/status");
  c.environment = {"NAME=value"};
  auto const e = run(std::move(c));
  EXPECT_EQ(e.printed.substr(0, 6), "value ");
  auto const line = e.printed.substr(0, e.printed.find('\n'));
  auto const id = line.substr(line.rfind(' ') + 1);
  EXPECT_NE(line.find(" " + id + " " + id), line.npos) << line;
  EXPECT_NE(e.printed.find("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000"), line.npos)
      << e.printed;
}

TEST_F(guard_test, whatever_it_leaves_running_is_ended) {
  auto const e =
      run(command("trap '' TERM; sleep 100 & echo $!; setsid sleep 100 & echo $!; "
                  "(setsid sh -c 'echo $$; sleep 100 & sleep 100' &); exit 0"));
  std::istringstream ids(e.printed);
  int count = 0;
  for (pid_t id = 0; ids >> id; ++count) EXPECT_NE(::kill(id, 0), 0) << id;
  EXPECT_GE(count, 2);  // the third may have been ended before it could say its number
}

TEST_F(guard_test, signals_reach_its_group) {
  guard g;
  start(g, command("trap 'echo term; exit 4' TERM; echo begun; sleep 100 & wait"));
  std::array<char, 6> begun{};
  ASSERT_EQ(::read(output_, begun.data(), begun.size()), 6);
  g.signal(SIGTERM);
  auto const e = wait(g);
  EXPECT_EQ(e.printed, "term\n");
  EXPECT_EQ(WEXITSTATUS(e.how.status), 4);
}

TEST_F(guard_test, a_guard_that_is_killed_takes_its_command_along) {
  become_subreaper();
  guard g;
  start(g, command("echo begun; sleep 100"));
  std::array<char, 6> begun{};
  ASSERT_EQ(::read(output_, begun.data(), begun.size()), 6);
  ::kill(g.id(), SIGKILL);
  ::waitpid(g.id(), nullptr, 0);
  end_descendants();
  EXPECT_EQ(wait(g).how.error, -1);
  EXPECT_TRUE(g.gone());
}

}  // namespace
}  // namespace headway::app
