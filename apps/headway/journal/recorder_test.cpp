#include "journal/recorder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "folder.hpp"

namespace headway::app {
namespace {

std::string request(std::int64_t line) {
  return fmt::format("http://127.0.0.1/{}", line);
}

std::string result(std::int64_t line) {
  return fmt::format(R"({{"line":{},"body":"{}"}})", line,
                     std::string(static_cast<std::size_t>(line % 300), 'x'));
}

/// Does `work` in a child process, which ends with 0 or the code of the error.
template <class Work>
pid_t in_child(Work work) {
  pid_t const child = ::fork();
  if (child != 0) return child;
  try {
    work();
  } catch (fatal const& error) {
    ::_exit(error.code);
  } catch (...) {
    ::_exit(255);
  }
  ::_exit(0);
}

/// Which lines were acknowledged, in memory that outlives a killed process.
class acknowledged {
 public:
  explicit acknowledged(std::int64_t lines) : size_(static_cast<std::size_t>(lines) + 1) {
    auto* const memory =
        ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    flags_ = static_cast<char*>(memory);
  }
  acknowledged(acknowledged const&) = delete;
  acknowledged& operator=(acknowledged const&) = delete;
  ~acknowledged() { ::munmap(flags_, size_); }
  char& operator[](std::int64_t line) { return flags_[line]; }

 private:
  std::size_t size_;
  char* flags_;
};

class recorder_test : public folder_test {
 protected:
  /// The start of every run of `lines` lines: `use(log, results)` goes on from there.
  template <class Use>
  void run(std::int64_t lines, durability level, Use use) const {
    journal log(path("journal"), "JOBS", level);
    for (std::int64_t line = 1; line <= lines; ++line) log.check(request(line));
    log.end_of_input();
    auto results = file::results(path("results"));
    log.start(results);
    use(log, std::move(results));
  }

  /// Finishes what is not done; every third line may not be sent twice. What is committed is noted
  /// in `acked`.
  void record(std::int64_t lines, durability level, acknowledged& acked,
              std::chrono::microseconds pause = {}) const {
    run(lines, level, [&](journal& log, file results) {
      recorder r(&log, std::move(results), -1);
      std::vector<std::pair<std::uint64_t, std::int64_t>> waiting;
      auto note = [&, next = std::size_t{0}]() mutable {
        for (auto const last = r.committed(); next < waiting.size() && waiting[next].first <= last;
             ++next)
          acked[waiting[next].second] = 1;
      };
      for (std::int64_t line = 1; line <= lines; ++line) {
        if (log.done(line)) continue;
        if (line % 3 == 0) r.intend(line);
        if (line % 9 == 0) {  // throttled once
          r.clear(line);
          r.intend(line);
        }
        waiting.emplace_back(r.finish(line, final_outcome::success, result(line)), line);
        if (line % 16 == 0 && pause.count() > 0) std::this_thread::sleep_for(pause);
        note();
      }
      r.drain();
      note();
    });
  }

  /// The judge: after any stop, results and done lines are the same, each once, whole, and all that
  /// was acknowledged.
  void expect_agreement(std::int64_t lines, acknowledged& acked) const {
    run(lines, durability::process, [&](journal& log, file) {
      std::ifstream in(path("results"));
      std::vector<int> seen(static_cast<std::size_t>(lines) + 1);
      std::string text;
      while (std::getline(in, text)) {
        std::int64_t line = 0;
        ASSERT_EQ(std::sscanf(text.c_str(), "{\"line\":%ld,", &line), 1) << text;
        ASSERT_TRUE(line >= 1 && line <= lines) << text;
        ASSERT_EQ(text, result(line));
        ++seen[static_cast<std::size_t>(line)];
      }
      for (std::int64_t line = 1; line <= lines; ++line) {
        ASSERT_EQ(seen[static_cast<std::size_t>(line)], log.done(line) ? 1 : 0) << "line " << line;
        ASSERT_TRUE(log.done(line) || acked[line] == 0) << "lost line " << line;
      }
    });
  }

  void expect_all_done(std::int64_t lines) const {
    EXPECT_EQ(journal(path("journal"), "JOBS", durability::process).count(final_outcome::success),
              lines);
  }
};

bool readable(int fd) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, 0) == 1;
}

int code_of(std::exception_ptr const& failure) {
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (fatal const& error) {
    return error.code;
  }
  return 0;
}

TEST_F(recorder_test, knows_its_bodies_before_they_are_there) {
  {
    journal log(path("journal"), "-", durability::process);
    auto results = file::results(path("results"));
    log.start(results);
    log.check(request(1));
    log.put({"bodies", "1"});
    recorder r(&log, std::move(results), -1);
    std::filesystem::remove(path("results"));  // its end, between the body and the commit
    r.finish(1, final_outcome::success, "{}", {{path("body"), "b", true}});
    EXPECT_THROW(r.drain(), fatal);
  }
  EXPECT_EQ(content("body"), "b");
  journal const log(path("journal"), "-", durability::process);
  EXPECT_FALSE(log.done(1));
  EXPECT_EQ(log.noted("bodies"), "1");
}

TEST_F(recorder_test, commits_in_order_and_says_so) {
  run(5, durability::power, [&](journal& log, file results) {
    recorder r(&log, std::move(results), -1);
    EXPECT_EQ(r.committed(), 0u);
    EXPECT_FALSE(readable(r.event_fd()));
    EXPECT_EQ(r.intend(1), 1u);
    EXPECT_EQ(r.clear(1), 2u);
    EXPECT_EQ(r.intend(2), 3u);
    EXPECT_EQ(r.finish(3, final_outcome::failed, "three"), 4u);
    r.drain();
    EXPECT_EQ(r.committed(), 4u);
    EXPECT_TRUE(readable(r.event_fd()));
    EXPECT_EQ(r.failure(), nullptr);
    EXPECT_EQ(content("results"), "three\n");
    r.finish(4, final_outcome::success, "four");  // committed when r ends
  });
  EXPECT_EQ(content("results"), "three\nfour\n");
  journal const log(path("journal"), "JOBS", durability::power);
  EXPECT_EQ(log.intents(), std::vector<std::int64_t>{2});
  EXPECT_TRUE(log.done(3) && log.done(4));
  EXPECT_EQ(log.count(final_outcome::failed), 1);
}

TEST_F(recorder_test, pending_memory_is_given_back) {
  run(1000, durability::process, [&](journal& log, file results) {
    recorder r(&log, std::move(results), -1);
    for (std::int64_t line = 1; line <= 1000; ++line)
      r.finish(line, final_outcome::success, result(line));
    EXPECT_GT(r.pending_bytes(), 0u);
    r.drain();
    while (r.pending_bytes() != 0) std::this_thread::yield();
  });
}

TEST_F(recorder_test, works_without_a_journal) {
  recorder r(nullptr, file::results(path("results")), -1);
  r.intend(1);
  r.finish(1, final_outcome::success, "one");
  r.drain();
  EXPECT_EQ(content("results"), "one\n");
}

TEST_F(recorder_test, copies_what_is_committed_until_its_reader_is_gone) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  run(2, durability::process, [&](journal& log, file results) {
    recorder r(&log, std::move(results), ends[1]);
    r.finish(1, final_outcome::success, "one");
    char copy[5] = {};
    EXPECT_EQ(::read(ends[0], copy, 4), 4);
    EXPECT_STREQ(copy, "one\n");
    EXPECT_EQ(r.echo_failure(), 0);
    ::close(ends[0]);
    r.finish(2, final_outcome::success, "two");
    r.drain();
    EXPECT_EQ(r.echo_failure(), EPIPE);
    EXPECT_EQ(r.failure(), nullptr);
  });
  ::close(ends[1]);
  EXPECT_EQ(content("results"), "one\ntwo\n");
}

TEST_F(recorder_test, tells_why_it_does_not_copy) {
  file const full = file::open("/dev/full", O_WRONLY);
  run(1, durability::process, [&](journal& log, file results) {
    recorder r(&log, std::move(results), full.fd());
    r.finish(1, final_outcome::success, "one");
    r.drain();
    EXPECT_EQ(r.echo_failure(), ENOSPC);
    EXPECT_EQ(r.failure(), nullptr);
  });
  EXPECT_EQ(content("results"), "one\n");
}

TEST_F(recorder_test, stops_at_a_full_disk) {
  recorder r(nullptr, file::results("/dev/full"), -1);
  r.finish(1, final_outcome::success, "one");
  EXPECT_THROW(r.drain(), fatal);
  EXPECT_EQ(code_of(r.failure()), exit_io);
  EXPECT_TRUE(readable(r.event_fd()));
  r.finish(2, final_outcome::success, "two");
  EXPECT_THROW(r.drain(), fatal);
  EXPECT_EQ(r.committed(), 0u);
}

// Whichever file hits the limit first; what was acknowledged before is there, and the rest can be
// done afterwards.
TEST_F(recorder_test, a_full_disk_loses_nothing_acknowledged) {
  constexpr std::int64_t lines = 2000;
  for (rlim_t const limit : {30'000u, 60'000u, 100'000u, 200'000u}) {
    SCOPED_TRACE(limit);
    make_folder();
    acknowledged acked(lines);
    run(lines, durability::process, [](journal&, file) {});
    pid_t const child = in_child([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      rlimit const limited{limit, RLIM_INFINITY};
      ::setrlimit(RLIMIT_FSIZE, &limited);
      record(lines, durability::process, acked, std::chrono::microseconds(100));
    });
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), exit_io);
    expect_agreement(lines, acked);
    record(lines, durability::process, acked);
    expect_agreement(lines, acked);
    expect_all_done(lines);
  }
}

TEST_F(recorder_test, survives_kills_at_random_moments) {
  constexpr std::int64_t lines = 20'000;
  std::mt19937 random(1);
  std::uniform_int_distribution<int> moment(0, 40'000);
  int kills = 0;
  while (kills < 60) {
    make_folder();
    acknowledged acked(lines);
    for (bool finished = false; !finished && kills < 60;) {
      auto const level = random() % 2 == 0 ? durability::process : durability::power;
      pid_t const child =
          in_child([&] { record(lines, level, acked, std::chrono::microseconds(50)); });
      ::usleep(static_cast<useconds_t>(moment(random)));
      ::kill(child, SIGKILL);
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      finished = WIFEXITED(status);
      ASSERT_TRUE(!finished || WEXITSTATUS(status) == 0);
      if (!finished) ++kills;
      ASSERT_NO_FATAL_FAILURE(expect_agreement(lines, acked)) << "after kill " << kills;
    }
  }
}

/// Runs `work` in a child that is killed at the `n`th time one of its threads enters or leaves a
/// system call. False: it ended before; nothing: this system does not let us trace.
template <class Work>
std::optional<bool> killed_at(int n, Work work) {
  pid_t const child = in_child([&] {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(255);
    ::raise(SIGSTOP);
    work();
  });
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return {};
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr,
           PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
  ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
  bool killed = false;
  for (int seen = 0;;) {
    pid_t const thread = ::waitpid(-1, &status, __WALL);
    if (!WIFSTOPPED(status)) {
      if (thread == child) return killed;
      continue;
    }
    if (WSTOPSIG(status) == (SIGTRAP | 0x80) && ++seen == n) killed = ::kill(child, SIGKILL) == 0;
    ::ptrace(PTRACE_SYSCALL, thread, nullptr, nullptr);
  }
}

TEST_F(recorder_test, survives_a_kill_at_every_system_call) {
  constexpr std::int64_t lines = 6;
  for (int n = 1;; n += 2) {
    make_folder("/dev/shm");  // a kill is the same there, and its syncs cost nothing
    acknowledged acked(lines);
    auto const killed = killed_at(n, [&] { record(lines, durability::power, acked); });
    if (!killed) GTEST_SKIP() << "ptrace is not allowed here";
    ASSERT_NO_FATAL_FAILURE(expect_agreement(lines, acked)) << "killed at " << n;
    record(lines, durability::power, acked);
    ASSERT_NO_FATAL_FAILURE(expect_agreement(lines, acked)) << "killed at " << n;
    expect_all_done(lines);
    if (!*killed) {
      EXPECT_GT(n, 100);
      break;
    }
  }
}

/// Remembers what it was asked.
class slow_ledger final : public ledger {
 public:
  std::atomic<int> tended = 0, committed = 0;
  std::atomic<bool> idle = true, closed = false;
  std::atomic<time_point> due_at = never;

  void commit(change_group const& group) override {
    committed += static_cast<int>(group.changes.size());
  }
  void tend(bool with_nothing_left) override {
    idle = with_nothing_left;
    due_at = ++tended < 3 ? clock_now() : never;
  }
  time_point due() const override { return due_at; }
  void require_untouched() const override {}
  void close() override { closed = true; }
};

TEST(recorder, tends_its_ledger_when_that_is_due) {
  auto owned = std::make_unique<slow_ledger>();
  auto& to = *owned;
  recorder r(std::move(owned), -1);
  r.intend(1);
  r.drain();
  EXPECT_EQ(to.tended, 0);
  std::uint64_t events = 0;
  ::read(r.event_fd(), &events, sizeof events);
  to.due_at = clock_now();
  r.poke();
  while (to.tended < 3) std::this_thread::yield();
  EXPECT_TRUE(to.idle);
  pollfd p{r.event_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&p, 1, 5000), 1);
  EXPECT_EQ(to.committed, 1);
}

TEST(recorder, a_ledger_that_fails_to_tend_ends_it) {
  struct failing final : ledger {
    void commit(change_group const&) override {}
    void tend(bool) override { throw fatal(exit_parked, "away"); }
    time_point due() const override { return time_point::min(); }
    void require_untouched() const override {}
    void close() override { ADD_FAILURE(); }
  };
  recorder r(std::make_unique<failing>(), -1);
  while (!r.failure()) std::this_thread::yield();
  EXPECT_EQ(code_of(r.failure()), exit_parked);
}

}  // namespace
}  // namespace headway::app
