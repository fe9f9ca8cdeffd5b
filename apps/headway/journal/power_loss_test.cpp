// The power goes at any moment of a run: what a run acknowledged under durability::power is there
// afterwards, once, whatever the disk had in its cache.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>

#include "journal/test_run.hpp"

namespace headway::app {
namespace {

constexpr std::int64_t lines = 24;

struct tally {
  std::int64_t states = 0;
  std::int64_t bad = 0;
  std::string first;  // what was wrong
};

struct planted {
  std::string ignored_syncs{};
  durability level = durability::power;
};

/// How far a run got before the power cut that we go on from.
struct moment {
  files left;
  world told;
};

/// Runs that are watched, one after the other: every second one is killed, perhaps under
/// durability::process, and started again before the power goes; most start from what a cut left of
/// the one before. Then cuts at every moment at which something was promised, some `states` in all.
tally cut_power(unsigned seed, std::int64_t states, planted const& bug = {}) {
  test_run::remember_databases();
  test_folder const watched_folder, cut_folder;
  std::mt19937 random(seed);
  constexpr int runs = 6;
  tally t;
  moment from;
  for (int number = 0; number < runs; ++number) {
    test_run const watched{watched_folder.path(), lines, bug.level, seed % 2 == 1};
    write_files(watched.folder, from.left);
    std::vector<disk_event> log;
    files initial;
    {
      test_disk d(watched.folder);
      if (!bug.ignored_syncs.empty()) d.ignore_syncs_of(bug.ignored_syncs);
      if (number % 2 == 1) {
        d.kill(static_cast<int>(2 + random() % 150));
        auto killed = watched;
        if (random() % 2 == 0) killed.level = durability::process;
        try {
          killed.go(&d, static_cast<unsigned>(random()));
        } catch (fatal const&) {
        }
        d.repair();
      }
      try {
        watched.go(&d, static_cast<unsigned>(random()));
      } catch (fatal const& error) {  // with a bug planted
        if (bug.ignored_syncs.empty() && bug.level == durability::power)
          ADD_FAILURE() << error.what();
      }
      log = d.log();
      initial = d.initial();
    }

    if (log.empty()) {  // refused, with a bug planted
      ++t.states;
      ++t.bad;
      from = {};
      continue;
    }

    auto const mine = states / runs + (number < states % runs ? 1 : 0);
    auto const size = static_cast<std::int64_t>(log.size());
    auto const go_on = static_cast<std::int64_t>(random() % log.size());
    test_run const cut{cut_folder.path(), lines, durability::power, watched.stream};
    power_cut power(initial, "journal");
    auto told = from.told;
    std::optional<moment> next;
    for (std::int64_t i = 0; i < size; ++i) {
      power.happen(log[static_cast<std::size_t>(i)]);
      told.happen(log[static_cast<std::size_t>(i)]);
      if (!told.promised && bug.level == durability::power) continue;
      for (auto n = mine * i / size; n < mine * (i + 1) / size; ++n) {
        auto const left = power.leave(random);
        write_files(cut.folder, left);
        auto const wrong = t.states % 16 == 0 ? cut.judge_to_the_end(told) : cut.judge(told);
        ++t.states;
        if (!wrong.empty() && t.bad++ == 0)
          t.first =
              fmt::format("seed {}, run {}, moment {} of {}: {}", seed, number, i, size, wrong);
      }
      if (i >= go_on && !next) next = {power.leave(random), told};
    }
    from = number % 3 == 2 ? moment{} : next.value_or(moment{});  // anew now and then
  }
  return t;
}

std::int64_t number_in(char const* variable, std::int64_t otherwise) {
  auto const* const asked = std::getenv(variable);
  return asked ? std::atoll(asked) : otherwise;
}

// HEADWAY_POWER_LOSS_STATES=n for n states, HEADWAY_SEED=n for those of one seed.
TEST(power_loss_test, loses_nothing_acknowledged) {
  auto const began = std::clock();
  constexpr std::int64_t each = 500;
  auto const one = number_in("HEADWAY_SEED", 0);
  auto const wanted = one > 0 ? 1 : number_in("HEADWAY_POWER_LOSS_STATES", 20'000);
  std::int64_t states = 0, bad = 0;
  for (auto seed = static_cast<unsigned>(one > 0 ? one : 1); states < wanted && bad < 1000;
       ++seed) {
    auto const t = cut_power(seed, each);
    states += t.states;
    bad += t.bad;
    EXPECT_EQ(t.bad, 0) << t.first;
  }
  std::printf("measured: %ld power cuts, %ld of them bad, in %.1f s of CPU\n",
              static_cast<long>(states), static_cast<long>(bad),
              static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC);
}

// Bugs planted, so that we know that the test above would see them.
TEST(power_loss_test, sees_what_is_not_synced) {
  struct {
    char const* what;
    planted bug;
    double least;  // share of the states that must be bad
  } const rows[] = {
      {"results are not synced", {"out/results"}, 0.2},
      {"the results' name is not synced", {"out/."}, 0.2},
      {"the journal is not synced", {"journal"}, 0.2},
      {"the journal's log is not synced", {"journal-wal"}, 0.2},
      {"the journal's watermark is not synced", {"journal-mark"}, 0.02},
      {"durability::process only", {"", durability::process}, 0.2},
  };
  for (auto const& row : rows) {
    SCOPED_TRACE(row.what);
    tally all;
    for (unsigned seed = 1; seed <= 10; ++seed) {  // of two alone the share may halve by chance
      auto const t = cut_power(seed, 50, row.bug);
      all.states += t.states;
      all.bad += t.bad;
      if (all.first.empty()) all.first = t.first;
    }
    EXPECT_GT(static_cast<double>(all.bad), row.least * static_cast<double>(all.states));
    std::printf("measured: %s: %ld of %ld power cuts bad (%s)\n", row.what,
                static_cast<long>(all.bad), static_cast<long>(all.states), all.first.c_str());
  }
}

}  // namespace
}  // namespace headway::app
