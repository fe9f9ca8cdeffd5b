#include "headway/driver/machine_pace.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <regex>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "folder.hpp"
#include "headway/headway.hpp"

namespace headway {
namespace {

namespace fs = std::filesystem;

constexpr fraction u{};
constexpr time_point start{1h};

class machine_pace_test : public folder_test {
 protected:
  std::string within() const { return folder + "/headway"; }
  std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(within()), fs::directory_iterator());
  }
  static any_law law(double rate) {
    any_law l;
    std::get<seek>(l.choice).level = rate;
    return l;
  }
  static sample answer(stamp const& s) { return {.sent = s, .in_flight = 1, .rtt = 10ms}; }
};

TEST_F(machine_pace_test, a_turn_is_taken_once) {
  machine_pace a(within(), "k", law(10));
  machine_pace b(within(), "k", law(10));
  a.refresh(start, 0, 1);
  b.refresh(start, 0, 1);
  ASSERT_LE(b.ready_at(1), start);
  EXPECT_TRUE(a.claim(start, 1, u));
  EXPECT_FALSE(b.claim(start, 1, u));
  EXPECT_GT(b.ready_at(1), start);
}

TEST_F(machine_pace_test, a_new_member_goes_on_with_the_law_of_the_others) {
  machine_pace a(within(), "k", law(10));
  machine_pace const b(within(), "k", law(1000));
  machine_pace const other(within(), "another key", law(1000));
  EXPECT_EQ(std::get<seek>(b.law().choice).level, 10);
  EXPECT_EQ(std::get<seek>(other.law().choice).level, 1000);
}

TEST_F(machine_pace_test, a_refusal_cuts_once_for_all) {
  machine_pace a(within(), "k", law(10));
  machine_pace b(within(), "k", law(10));
  auto const first = a.take(start, 1, u);
  auto const second = b.take(start, 1, u);
  a.on_throttle(start + 10ms, answer(first), resource::rate, u);
  b.on_throttle(start + 11ms, answer(second), resource::rate, u);
  b.refresh(start + 11ms, 0, 1);
  EXPECT_EQ(std::get<seek>(b.law().choice).so_far.epoch, 1U);
}

TEST_F(machine_pace_test, what_a_server_asks_one_to_wait_all_wait) {
  machine_pace a(within(), "k", law(10));
  machine_pace b(within(), "k", law(10));
  a.on_hint(start, {.retry_after = 5s});
  b.refresh(start, 0, 1);
  EXPECT_EQ(b.held_until(), start + 5s);
  EXPECT_FALSE(b.claim(start + 4s, 1, u));
  EXPECT_TRUE(b.claim(start + 5s, 1, u));
}

TEST_F(machine_pace_test, a_window_that_members_share_is_not_shared_with_others) {
  machine_pace a(within(), "k", law(10));
  {
    machine_pace const b(within(), "k", law(10));
    a.on_hint(start, {.shared = true});
    EXPECT_FALSE(std::get<seek>(a.law().choice).others.shown);
  }
  machine_pace alone(within(), "another key", law(10));
  alone.on_hint(start, {.shared = true});
  EXPECT_TRUE(std::get<seek>(alone.law().choice).others.shown);
}

TEST_F(machine_pace_test, the_least_recently_served_goes_first) {
  machine_pace a(within(), "k", law(10));
  machine_pace b(within(), "k", law(10));
  b.refresh(start, 0, 1);
  ASSERT_TRUE(a.claim(start, 1, u));
  a.take(start, 1, u);
  auto const turn = a.law().ready_at(1);
  b.refresh(turn, 0, 1);
  a.refresh(turn, 1, 1);
  EXPECT_FALSE(a.claim(turn, 1, u));
  EXPECT_TRUE(b.claim(turn, 1, u));
  b.take(turn, 1, u);
  auto const later_turn = b.law().ready_at(1);
  EXPECT_FALSE(b.claim(later_turn, 1, u));
  EXPECT_TRUE(b.claim(later_turn + 1ms, 1, u)) << "it waits for a only a moment";
}

TEST_F(machine_pace_test, permits_of_the_dead_come_back) {
  machine_pace a(within(), "k", law(10));
  auto const before = a.allowed();
  auto const child = fork();
  if (child == 0) {
    machine_pace b(within(), "k", law(10));
    b.take(start, 1, u);
    b.take(start, 1, u);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  a.refresh(start, 0, 1);  // the first look is at which members live
  EXPECT_EQ(a.allowed(), before);
}

TEST_F(machine_pace_test, the_last_to_leave_removes_the_file) {
  {
    machine_pace a(within(), "k", law(10));
    { machine_pace b(within(), "k", law(10)); }
    EXPECT_EQ(files(), 1);
  }
  EXPECT_EQ(files(), 0);
}

TEST_F(machine_pace_test, what_the_dead_left_is_not_believed) {
  if (auto const child = fork(); child == 0) {
    machine_pace b(within(), "k", law(1000));
    b.hold(start + 1h);
    kill(getpid(), SIGKILL);
  } else {
    waitpid(child, nullptr, 0);
  }
  ASSERT_EQ(files(), 1);
  machine_pace const a(within(), "k", law(10));
  EXPECT_EQ(std::get<seek>(a.law().choice).level, 10);
  EXPECT_LT(a.held_until(), start);
}

TEST_F(machine_pace_test, another_clock_holds_no_member) {
  for (auto const offset : {duration(-24h), duration(90000s), duration(24h)}) {
    machine_pace a(within(), "k", law(10));
    a.refresh(start + 48h, 0, 1);
    auto stranger = std::make_unique<machine_pace>(within(), "k", law(10));
    stranger->refresh(start + 48h + offset, 0, 1);
    stranger->take(start + 48h + offset, 1, u);
    stranger->hold(start + 48h + offset + 1s);
    for (auto const gone : {false, true}) {
      if (gone) stranger.reset();
      auto const now = start + 48h + (gone ? 1s : 500ms);
      a.refresh(now, 0, 1);
      EXPECT_LE(a.held_until(), now);
      EXPECT_TRUE(a.claim(now, 1, u));
      a.take(now, 1, u);
      EXPECT_LE(a.ready_at(1), now + 1s);
    }
  }
}

TEST_F(machine_pace_test, what_another_clock_left_holds_no_member) {
  machine_pace a(within(), "k", law(10));
  a.refresh(start, 0, 1);
  {
    machine_pace stranger(within(), "k", law(10));
    stranger.refresh(start + 24h, 0, 1);
    stranger.take(start + 24h, 1, u);
  }
  a.refresh(start + 1s, 0, 1);
  EXPECT_TRUE(a.claim(start + 1s, 1, u));
  EXPECT_FALSE(a.shared());
  EXPECT_EQ(std::get<seek>(a.law().choice).level, 10);
}

TEST_F(machine_pace_test, a_slow_pace_and_a_hold_within_our_patience_are_believed) {
  machine_pace a(within(), "k", law(0.01), 5s);
  machine_pace b(within(), "k", law(0.01), 5s);
  a.refresh(start, 0, 1);
  a.take(start, 1, u);
  a.hold(start + 5s);
  b.refresh(start, 0, 1);
  EXPECT_GT(b.ready_at(1), start + 30s);
  EXPECT_EQ(b.held_until(), start + 5s);
  a.hold(start + 6s);
  b.refresh(start, 0, 1);
  EXPECT_LE(b.held_until(), start);
  EXPECT_TRUE(b.shared());
}

TEST_F(machine_pace_test, a_page_of_garbage_ends_in_pacing_alone) {
  for (auto const from : {0, 8, 64, 128}) {
    machine_pace a(within(), "k", law(10));
    machine_pace b(within(), "k", law(10));
    a.refresh(start, 0, 1);
    b.refresh(start, 0, 1);
    fs::path const path = fs::directory_iterator(within())->path();
    auto const size = static_cast<int>(fs::file_size(path));
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(from);
    rng chance(static_cast<std::uint64_t>(from));
    for (int i = from; i < size; ++i) file.put(static_cast<char>(chance()));
    file.close();
    for (auto* const each : {&a, &b}) {
      each->refresh(start + 500ms, 0, 1);
      each->on_success(start + 500ms, answer({.sent = start}), u);
      EXPECT_TRUE(each->claim(start + 2s, 1, u));
      each->take(start + 2s, 1, u);
      EXPECT_EQ(std::get<seek>(each->law().choice).so_far.successes, 1U);
    }
    fs::remove(path);
  }
}

TEST_F(machine_pace_test, a_file_is_named_by_version_protocol_layout_size_and_key) {
  machine_pace const a(within(), "k", law(10));
  auto const path = fs::directory_iterator(within())->path();
  std::regex const form(R"(\d+\.\d+\.\d+-\d-[0-9a-f]{16}-(\d+)-[0-9a-f]{32})");
  std::smatch found;
  auto const name = path.filename().string();
  ASSERT_TRUE(std::regex_match(name, found, form)) << name;
  EXPECT_EQ(std::stoul(found[1]), fs::file_size(path));
}

TEST_F(machine_pace_test, files_of_the_dead_are_removed_by_the_next_member) {
  machine_pace const living(within(), "living", law(10));
  if (auto const child = fork(); child == 0) {
    machine_pace const b(within(), "dead", law(10));
    kill(getpid(), SIGKILL);
  } else {
    waitpid(child, nullptr, 0);
  }
  std::ofstream(within() + "/another's") << "no pace";
  ASSERT_EQ(files(), 3);
  machine_pace const a(within(), "k", law(10));
  EXPECT_EQ(files(), 3) << "its own, that of the living one, and a file that is no pace";
}

// A forked process of a test's own, which ends with it, as do those that it forks.
class process {
 public:
  template <class F>
  explicit process(F f) {
    EXPECT_EQ(pipe(from_.data()) + pipe(to_.data()), 0);
    id_ = fork();
    close(id_ == 0 ? to_[1] : to_[0]);
    close(id_ == 0 ? from_[0] : from_[1]);
    if (id_ != 0) return;
    alarm(20);  // the longest wait for it
    f(*this);
    _exit(testing::Test::HasFailure());
  }
  process(process const&) = delete;
  process& operator=(process const&) = delete;
  ~process() {
    close(to_[1]);
    if (id_ != 0) end(SIGKILL);
    close(from_[0]);
  }

  /// Within it: says that it is ready, and waits for its end.
  void ready() const {
    char c = 'x';
    if (write(from_[1], &c, 1) == 1) static_cast<void>(read(to_[0], &c, 1));
    _exit(0);
  }
  /// Until so many within it are ready.
  void await(int processes = 1) const {
    for (char c{}; processes > 0; --processes) ASSERT_EQ(read(from_[0], &c, 1), 1);
  }
  /// How it ended.
  int end(int signal = 0) {
    int status = 0;
    if (signal != 0) kill(id_, signal);
    waitpid(std::exchange(id_, 0), &status, 0);
    return status;
  }

 private:
  std::array<int, 2> from_{};
  std::array<int, 2> to_{};
  pid_t id_ = 0;
};

TEST_F(machine_pace_test, both_sides_of_a_fork_are_members_and_each_dies_for_itself) {
  machine_pace watcher(within(), "k", law(10));
  auto const before = watcher.allowed();
  auto out = [&, now = start]() mutable {
    watcher.refresh(now += 1s, 0, 1);
    return before - watcher.allowed();
  };
  process parent([&](process const& self) {
    machine_pace a(within(), "k", law(10));
    a.take(start, 1, u);
    process const child([&](process const&) {
      a.take(start, 1, u);
      a.take(start, 1, u);
      self.ready();
    });
    self.ready();
  });
  parent.await(2);
  EXPECT_EQ(out(), 3);
  parent.end(SIGKILL);
  EXPECT_EQ(out(), 2) << "the child's alone";

  machine_pace b(within(), "k", law(10));
  b.take(start + 2s, 1, u);
  process child([&](process const& self) {
    b.take(start + 2s, 1, u);
    self.ready();
  });
  child.await();
  EXPECT_EQ(out(), 4);
  child.end(SIGKILL);
  EXPECT_EQ(out(), 3);
}

TEST_F(machine_pace_test, a_child_that_does_not_act_keeps_nothing_of_its_parent) {
  machine_pace watcher(within(), "k", law(10));
  auto const before = watcher.allowed();
  process parent([&](process const& self) {
    machine_pace a(within(), "k", law(10));
    a.take(start, 1, u);
    process const child([&](process const&) { self.ready(); });
    self.ready();
  });
  parent.await(2);
  watcher.refresh(start, 0, 1);
  EXPECT_EQ(watcher.allowed(), before - 1);
  parent.end(SIGKILL);
  watcher.refresh(start + 1s, 0, 1);
  EXPECT_EQ(watcher.allowed(), before);

  std::optional<machine_pace> last(std::in_place, within(), "another", law(10));
  process const child([](process const& self) { self.ready(); });
  child.await();
  EXPECT_EQ(files(), 2);
  last.reset();
  EXPECT_EQ(files(), 1) << "though the child lives";
}

TEST_F(machine_pace_test, a_child_that_does_not_act_takes_nothing_from_its_parent) {
  machine_pace watcher(within(), "k", law(10));
  auto const before = watcher.allowed();
  std::optional<machine_pace> a(std::in_place, within(), "k", law(10));
  a->take(start, 1, u);
  process child([&](process const&) { a.reset(); });
  EXPECT_EQ(child.end(), 0);
  watcher.refresh(start, 0, 1);
  EXPECT_EQ(watcher.allowed(), before - 1);
  a->hold(start + 5s);
  watcher.refresh(start, 0, 1);
  EXPECT_EQ(watcher.held_until(), start + 5s);
}

TEST_F(machine_pace_test, a_child_that_cannot_join_goes_on_alone) {
  machine_pace watcher(within(), "k", law(10));
  auto const before = watcher.allowed();
  machine_pace a(within(), "k", law(10));
  a.take(start, 1, u);
  fs::permissions(within(), fs::perms::all);
  process child([&](process const&) {
    EXPECT_FALSE(a.claim(start, 1, u)) << "of the law as it was";
    EXPECT_FALSE(a.shared());
    EXPECT_TRUE(a.claim(start + 1s, 1, u));
    EXPECT_EQ(a.take(start + 1s, 1, u).in_flight, 1);
    EXPECT_GT(a.ready_at(1), start + 1s);
  });
  EXPECT_EQ(child.end(), 0);
  EXPECT_TRUE(a.shared());
  watcher.refresh(start, 0, 1);
  EXPECT_EQ(watcher.allowed(), before - 1);
}

// One that a signal has stopped gets its answers, but cannot say so.
TEST_F(machine_pace_test, a_stopped_member_holds_no_permits_and_its_late_answers_teach_nothing) {
  machine_pace a(within(), "k", law(10));
  machine_pace b(within(), "k", law(10));
  b.refresh(start, 0, 1);
  auto const sent = b.take(start, 1, u);
  a.refresh(start + 500ms, 0, 1);
  auto const before = a.allowed();
  a.refresh(start + 1s, 0, 1);
  EXPECT_EQ(a.allowed(), before + 1);
  b.on_success(start + 10s, answer(sent), u);
  EXPECT_EQ(std::get<seek>(b.law().choice).so_far.successes, 0U);
  b.refresh(start + 10s, 0, 1);
  b.on_success(start + 10s, answer(b.take(start + 10s, 1, u)), u);
  EXPECT_EQ(std::get<seek>(b.law().choice).so_far.successes, 1U);
}

TEST_F(machine_pace_test, a_member_that_only_waits_for_an_answer_is_not_stopped) {
  machine_pace a(within(), "k", law(10));
  machine_pace b(within(), "k", law(10));
  b.refresh(start, 0, 1);
  auto const sent = b.take(start, 1, u);
  b.refresh(start, 1, 0);
  a.refresh(start, 0, 1);
  auto const before = a.allowed();
  a.refresh(start + 1min, 0, 1);
  EXPECT_EQ(a.allowed(), before);
  b.on_success(start + 1min, answer(sent), u);
  EXPECT_EQ(std::get<seek>(b.law().choice).so_far.successes, 1U);
}

TEST_F(machine_pace_test, a_member_that_never_takes_its_turn_costs_no_pace) {
  machine_pace a(within(), "k", law(200));
  std::vector<std::unique_ptr<machine_pace>> idle;
  for (int i = 0; i < 6; ++i) idle.push_back(std::make_unique<machine_pace>(within(), "k", law(1)));
  a.refresh(start, 0, 1);
  a.take(start, 1, u);
  int taken = 0;
  for (auto now = start; now < start + 2s; now += 100us) {
    for (auto const& each : idle) each->refresh(now, 0, 1);
    a.refresh(now, 0, 1);
    if (!a.claim(now, 1, u)) continue;
    a.take(now, 1, u);
    ++taken;
  }
  EXPECT_GE(taken, 395);
}

// Every answer is counted by the one law: an act that was lost or torn would show.
TEST_F(machine_pace_test, acts_of_many_processes_are_neither_lost_nor_torn) {
  constexpr int processes = 4;
  constexpr int acts = 50000;
  machine_pace watcher(within(), "k", law(10));
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    machine_pace one(within(), "k", law(10));
    for (int n = 0; n < acts; ++n) one.on_success(start, answer({.sent = start}), u);
    _exit(0);
  }
  for (auto const child : children) waitpid(child, nullptr, 0);
  watcher.refresh(start, 0, 1);
  auto const& s = std::get<seek>(watcher.law().choice);
  EXPECT_EQ(s.so_far.successes, std::uint64_t{processes} * acts);
  EXPECT_EQ(s.so_far.units, static_cast<double>(s.so_far.successes));
}

// A child says that it begins an act and that it ended: of the last one it is not known.
TEST_F(machine_pace_test, a_kill_at_any_instant_leaves_all_of_an_act_or_nothing) {
  machine_pace a(within(), "k", law(10));
  std::uint64_t surely = 0;
  std::uint64_t perhaps = 0;
  for (int round = 0; round < 40; ++round) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    auto const child = fork();
    if (child == 0) {
      machine_pace one(within(), "k", law(10));
      for (;;) {
        one.on_success(start, answer({.sent = start}), u);
        if (write(ends[1], "x", 1) != 1) _exit(1);
      }
    }
    close(ends[1]);
    std::array<char, 256> told{};
    surely += static_cast<std::uint64_t>(read(ends[0], told.data(), told.size()));
    usleep(static_cast<useconds_t>(97 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (ssize_t n = 0; (n = read(ends[0], told.data(), told.size())) > 0;)
      surely += static_cast<std::uint64_t>(n);
    close(ends[0]);
    ++perhaps;
    a.refresh(start, 0, 1);
    auto const& s = std::get<seek>(a.law().choice);
    EXPECT_EQ(s.so_far.units, static_cast<double>(s.so_far.successes));
    EXPECT_GE(s.so_far.successes, surely);
    EXPECT_LE(s.so_far.successes, surely + perhaps);
  }
  a.refresh(start + 1s, 0, 1);
  EXPECT_TRUE(a.claim(start + 1s, 1, u));
}

TEST_F(machine_pace_test, what_is_not_ours_is_refused_and_left_as_it_is) {
  fs::create_directory(within());
  fs::permissions(within(), fs::perms::all);
  EXPECT_THROW(machine_pace(within(), "k", law(10)), std::runtime_error);
  fs::remove(within());
  fs::create_directory_symlink(folder, within());
  EXPECT_THROW(machine_pace(within(), "k", law(10)), std::runtime_error);
  fs::remove(within());

  std::string name;
  {
    machine_pace const a(within(), "k", law(10));
    name = fs::directory_iterator(within())->path();
  }
  std::ofstream(name) << "another's";
  fs::permissions(name, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_THROW(machine_pace(within(), "k", law(10)), std::runtime_error);
  EXPECT_EQ(fs::file_size(name), 9U);
  fs::remove(name);
  fs::create_symlink("elsewhere", name);
  EXPECT_THROW(machine_pace(within(), "k", law(10)), std::runtime_error);
  EXPECT_FALSE(fs::exists(within() + "/elsewhere"));
}

TEST_F(machine_pace_test, what_the_system_refuses_is_told_apart) {
  EXPECT_THROW(machine_pace(folder + "/none/headway", "k", law(10)), std::system_error);
  fs::create_directory(within());
  EXPECT_THROW(machine_pace("/proc/headway", "k", law(10)), std::system_error);
}

TEST_F(machine_pace_test, a_runtime_folder_of_others_is_not_ours) {
  setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
  EXPECT_EQ(machine_pace::default_folder(), within());
  fs::permissions(folder, fs::perms::others_read, fs::perm_options::add);
  EXPECT_NE(machine_pace::default_folder(), within());
  unsetenv("XDG_RUNTIME_DIR");
}

TEST_F(machine_pace_test, one_more_than_the_most_is_refused) {
  std::vector<std::unique_ptr<machine_pace>> all;
  for (int i = 0; i < machine_pace::members_max; ++i)
    all.push_back(std::make_unique<machine_pace>(within(), "k", law(10)));
  EXPECT_THROW(machine_pace(within(), "k", law(10)), std::runtime_error);
  all.pop_back();
  EXPECT_NO_THROW(machine_pace(within(), "k", law(10)));
}

}  // namespace
}  // namespace headway
