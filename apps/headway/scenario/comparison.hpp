/// What laws did on one scenario, seed by seed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headway/sim/simulation.hpp"
#include "scenario/scenario_file.hpp"

namespace headway::app {

struct comparison {
  struct row {
    std::string law;
    /// By seed; only the first has a timeline, if one was asked for. None at all: the law took more
    /// than `events_max` on some seed, so it is not measured.
    std::vector<sim::figures> runs{};
    friend bool operator==(row const&, row const&) = default;
  };

  sim::scenario what;
  std::string title;  ///< the scenario's name, and what was swept: "seed-003 latency=20ms"
  std::vector<setting> sweep{};  ///< what was swept
  std::vector<std::uint64_t> seeds{};
  std::vector<row> rows;
  row told;  ///< the limit-known sender on the same seeds, also where it is not among the rows
  friend bool operator==(comparison const&, comparison const&) = default;
};

/// Of one figure over the seeds.
struct spread_of {
  double median = 0, p90 = 0;
};

/// Nearest rank. Requires: values are not empty.
spread_of spread(std::vector<double> values);

/// `figure(run)` over the runs of `r`. Requires: r has runs.
template <class Figure>
spread_of spread(comparison::row const& r, Figure figure) {
  std::vector<double> values;
  for (auto const& run : r.runs) values.push_back(figure(run));
  return spread(std::move(values));
}

/// The time that `run` took for a request, divided by what `told` took: completion ÷ completion
/// where both ended, goodput ÷ goodput where there is no end. Infinite if nothing was done.
double times_told(sim::figures const& run, sim::figures const& told);

/// The same over all seeds. Requires: r and c.told have runs.
spread_of times_told(comparison const& c, comparison::row const& r);

double throttled_share(sim::figures const&);       ///< of the attempts
double attempts_per_request(sim::figures const&);  ///< attempts ÷ requests done

/// What to simulate.
struct comparing {
  std::vector<sim::contender> laws{};
  std::vector<std::uint64_t> seeds{};
  bool timelines = false;  ///< of the first seed
  std::int64_t events_max = 20'000'000;
  int threads = 0;                                                  ///< zero: as many as cores
  std::function<void(std::int64_t done, std::int64_t all)> tick{};  ///< from one thread at a time
};

/// Every law on every scenario with every seed. The result does not depend on the threads. Errors:
/// those of sim::simulate(), but for events_max.
std::vector<comparison> compare(std::vector<sim::scenario> const& scenarios, comparing const& how);

}  // namespace headway::app
