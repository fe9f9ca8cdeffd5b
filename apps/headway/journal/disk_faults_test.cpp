// Every call that changes the disk fails, one run for each: the run says so, loses nothing that it
// acknowledged, and the next run finishes.

#include <gtest/gtest.h>

#include <string>

#include "journal/test_run.hpp"

namespace headway::app {
namespace {

constexpr std::int64_t lines = 12;

struct tally {
  int runs = 0;
  int failed = 0;  // the others did not need what failed
};

/// Runs that go on from `left`, where `told` was known: in the first the first such call fails, in
/// the second the second, and so on until there is none.
tally fail_each(files const& left, world const& told, disk_call kind, int error, bool for_ever,
                bool part = false) {
  test_run::remember_databases();
  test_folder const folder;
  test_run const watched{folder.path(), lines};
  std::mt19937 random(1);
  tally t;
  for (int nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    write_files(folder.path(), left);
    auto now = told;
    files all, after_cut;
    {
      test_disk d(folder.path());
      d.fail(kind, nth, error, for_ever, part);
      bool failed = false;
      try {
        watched.go(&d, 1);
      } catch (fatal const& error_shown) {
        EXPECT_EQ(error_shown.code, exit_io) << error_shown.what();
        failed = true;
      }
      if (!d.hit()) {
        EXPECT_FALSE(failed);
        return t;
      }
      power_cut power(d.initial(), "journal");
      for (auto const& e : d.log()) {
        power.happen(e);
        now.happen(e);
      }
      EXPECT_TRUE(failed || now.done.size() == lines);
      ++t.runs;
      t.failed += failed;
      all = read_files(folder.path());
      after_cut = power.leave(random);
    }
    EXPECT_EQ(watched.judge_to_the_end(now), "");
    write_files(folder.path(), after_cut);
    EXPECT_EQ(watched.judge_to_the_end(now), "") << "after a power cut";
    if (testing::Test::HasFailure()) return t;
  }
}

/// `from`: what there is already.
tally fail_every_call(files const& from, world const& told) {
  struct {
    char const* what;
    disk_call kind;
    int error;
    bool part;
  } const rows[] = {
      {"open: EIO", disk_call::open, EIO, false},
      {"open: ENOSPC", disk_call::open, ENOSPC, false},
      {"write: EIO", disk_call::write, EIO, false},
      {"write: ENOSPC", disk_call::write, ENOSPC, false},
      {"write: ENOSPC after half", disk_call::write, ENOSPC, true},
      {"truncate: EIO", disk_call::truncate, EIO, false},
      {"sync: EIO", disk_call::sync, EIO, false},
      {"sync: ENOSPC", disk_call::sync, ENOSPC, false},
      {"unlink: EIO", disk_call::unlink, EIO, false},
  };
  tally all;
  for (auto const& row : rows) {
    for (bool const for_ever : {false, true}) {
      SCOPED_TRACE(row.what);
      SCOPED_TRACE(for_ever ? "for ever after" : "once");
      auto const t = fail_each(from, told, row.kind, row.error, for_ever, row.part);
      all.runs += t.runs;
      all.failed += t.failed;
      EXPECT_GT(t.runs, 0);
    }
  }
  return all;
}

TEST(disk_faults_test, in_a_run) {
  auto const t = fail_every_call({}, {});
  std::printf("measured: a call failed in %d runs, which ended %d of them\n", t.runs, t.failed);
}

TEST(disk_faults_test, in_a_run_that_takes_up_another) {
  files left;
  world told;
  // How many calls a run makes is up to its threads: killed where some of it is done, and some
  // sent.
  for (int calls = 50; calls < 120 && (told.done.empty() || told.sent.empty()); calls += 5) {
    test_folder const folder;
    test_disk d(folder.path());
    d.kill(calls);
    try {
      test_run({folder.path(), lines}).go(&d, 2);
      continue;  // it came to its end
    } catch (fatal const&) {
    }
    d.repair();
    left = read_files(folder.path());
    told = {};
    for (auto const& e : d.log()) told.happen(e);
  }
  ASSERT_FALSE(told.done.empty());
  ASSERT_FALSE(told.sent.empty());
  left["out/results"] += "half a li";
  auto const t = fail_every_call(left, told);
  std::printf("measured: a call failed in %d runs, which ended %d of them\n", t.runs, t.failed);
}

}  // namespace
}  // namespace headway::app
