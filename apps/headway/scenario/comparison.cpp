#include "scenario/comparison.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace headway::app {

static constexpr std::string_view limit_known = "told";

spread_of spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  auto const rank = [&](double share) {
    auto const n = static_cast<double>(values.size());
    return values[static_cast<std::size_t>(std::max(1.0, std::ceil(share * n))) - 1];
  };
  return {rank(0.5), rank(0.9)};
}

double times_told(sim::figures const& run, sim::figures const& told) {
  auto const each = [](sim::figures const& f) {
    return f.done == 0 ? std::numeric_limits<double>::infinity()
                       : to_seconds(f.completion) / static_cast<double>(f.done);
  };
  return told.done == 0 ? 1 : each(run) / each(told);
}

spread_of times_told(comparison const& c, comparison::row const& r) {
  std::vector<double> values;
  for (std::size_t i = 0; i < r.runs.size(); ++i)
    values.push_back(times_told(r.runs[i], c.told.runs[i]));
  return spread(std::move(values));
}

double throttled_share(sim::figures const& f) {
  return f.attempts == 0 ? 0 : static_cast<double>(f.throttled) / static_cast<double>(f.attempts);
}

double attempts_per_request(sim::figures const& f) {
  return f.done == 0 ? std::numeric_limits<double>::infinity()
                     : static_cast<double>(f.attempts) / static_cast<double>(f.done);
}

constexpr static std::size_t points_max = 1000;  // more are a blot

/// 600 points on a curve need no more, and a long scenario must not fill the memory.
static duration timeline_step(sim::scenario const& s) {
  return std::clamp<duration>(s.lasts / 36'000, 100ms, 10s);
}

std::vector<comparison> compare(std::vector<sim::scenario> const& scenarios, comparing const& how) {
  // The limit-known sender is simulated once, first, whether or not it is among the laws.
  auto laws = how.laws;
  std::erase_if(laws, [](auto const& law) { return law.name == limit_known; });
  laws.insert(laws.begin(), *sim::contender_named(limit_known));

  auto const seeds = how.seeds.size();
  auto const rows = scenarios.size() * laws.size();
  auto const all = rows * seeds;
  std::vector<sim::figures> runs(all);
  std::vector<std::atomic<bool>> endless(rows);
  std::atomic<std::size_t> next = 0;
  std::mutex one_at_a_time;
  std::int64_t done = 0;
  std::exception_ptr failed;

  auto const work = [&] {
    for (auto i = next++; i < all; i = next++) {
      auto const row = i / seeds;
      auto const& scenario = scenarios[row / laws.size()];
      bool const drawn = how.timelines && i % seeds == 0;
      try {
        if (!endless[row])
          runs[i] = sim::simulate(scenario, laws[row % laws.size()],
                                  {.seed = how.seeds[i % seeds],
                                   .timeline_step = drawn ? timeline_step(scenario) : 0ns,
                                   .points_max = drawn ? points_max : 0,
                                   .events_max = how.events_max});
      } catch (std::runtime_error const&) {
        endless[row] = true;
      } catch (...) {
        std::lock_guard const lock(one_at_a_time);
        failed = std::current_exception();
        next = all;
      }
      std::lock_guard const lock(one_at_a_time);
      ++done;
      if (how.tick) how.tick(done, static_cast<std::int64_t>(all));
    }
  };
  {
    auto const threads = how.threads > 0 ? static_cast<unsigned>(how.threads)
                                         : std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::jthread> team;
    for (unsigned i = 1; i < threads; ++i) team.emplace_back(work);
    work();
  }
  if (failed) std::rethrow_exception(failed);

  std::vector<comparison> results;
  for (std::size_t s = 0; s < scenarios.size(); ++s) {
    auto const row_of = [&](std::string_view law) {
      auto const at = std::ranges::find(laws, law, &sim::contender::name) - laws.begin();
      auto const row = s * laws.size() + static_cast<std::size_t>(at);
      comparison::row r{.law = std::string(law)};
      if (endless[row]) return r;
      auto const first = runs.begin() + static_cast<std::ptrdiff_t>(row * seeds);
      r.runs.assign(first, first + static_cast<std::ptrdiff_t>(seeds));
      return r;
    };
    auto& c = results.emplace_back();
    c.what = scenarios[s];
    c.title = scenarios[s].name;
    c.seeds = how.seeds;
    for (auto const& law : how.laws) c.rows.push_back(row_of(law.name));
    c.told = row_of(limit_known);
  }
  return results;
}

}  // namespace headway::app
