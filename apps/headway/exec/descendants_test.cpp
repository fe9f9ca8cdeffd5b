#include "exec/descendants.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>

#include "exec/guard.hpp"
#include "os/file.hpp"

namespace headway::app {
namespace {

void start(guard& g, std::string script) {
  file const null(::open("/dev/null", O_RDWR | O_CLOEXEC), "/dev/null");
  ASSERT_TRUE(g.start({.program = "/bin/sh",
                       .arguments = {"sh", "-c", std::move(script)},
                       .input = null.fd(),
                       .output = null.fd(),
                       .error = null.fd(),
                       .hints = null.fd()}));
}

bool comes_true(std::function<bool()> const& what) {
  for (int i = 0; i < 2000; ++i) {
    if (what()) return true;
    ::poll(nullptr, 0, 5);
  }
  return false;
}

TEST(descendants, each_thread_that_computes_counts_and_each_thread_may_have_children) {
  guard g;
  start(g,
        "exec python3 -c 'import subprocess, threading\n"
        "t = threading.Thread(target=subprocess.run, args=([\"sh\", \"-c\", \"while :; do :; "
        "done\"],))\n"
        "t.start(); t.join()'");
  std::array const all{g.id()};
  EXPECT_TRUE(comes_true([&] { return hungry_descendants(all, 9) == 1; }));
  guard many;
  start(many,
        "exec python3 -c 'import hashlib, threading\n"
        "data = bytes(1 << 26)\n"
        "work = lambda: [hashlib.sha256(data) for _ in range(10**6)]\n"
        "for _ in range(3): threading.Thread(target=work).start()'");
  std::array const threads{many.id()};
  EXPECT_TRUE(comes_true([&] { return hungry_descendants(threads, 9) == 3; }));
}

TEST(descendants, those_that_compute_want_a_processor_and_those_that_sleep_do_not) {
  guard sleeps, computes, starts;
  start(sleeps, "sleep 60; :");
  start(computes, "(while :; do :; done) & while :; do :; done");
  std::array const quiet{sleeps.id()};
  std::array const loud{computes.id()};
  EXPECT_TRUE(comes_true([&] { return hungry_descendants(quiet, 9) == 0; }));
  EXPECT_TRUE(comes_true([&] { return hungry_descendants(loud, 9) == 2; }));  // a child of its too
  EXPECT_EQ(hungry_descendants(loud, 1), 1);
  std::array const none_yet{starts.id()};
  EXPECT_EQ(hungry_descendants(none_yet, 9), 1);
}

}  // namespace
}  // namespace headway::app
