#include "whatif/forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/fatal.hpp"
#include "base/words.hpp"
#include "headway/sim/simulation.hpp"
#include "scenario/comparison.hpp"
#include "whatif/load.hpp"

namespace headway::app {
namespace {

constexpr std::array laws = {"seek",          "reno",
                             "adaptive-rate", "auto-sleeper",
                             "exponential",   "exponential-full",
                             "aws-adaptive",  "netflix-gradient2"};

forecast::row row_of(comparison::row const& r) {
  forecast::row row{.law = r.law, .ended = !r.runs.empty()};
  if (!row.ended) return row;
  row.ended = std::ranges::all_of(r.runs, &sim::figures::finished);
  row.took = from_seconds(spread(r, [](auto const& f) { return to_seconds(f.completion); }).median);
  row.throttled = spread(r, throttled_share).median;
  row.attempts = static_cast<std::int64_t>(
      spread(r, [](auto const& f) { return static_cast<double>(f.attempts); }).median);
  return row;
}

}  // namespace

forecast forecast_of(recording const& all, std::size_t attempts_max) {
  auto const part = all.first(attempts_max);
  forecast f{.scope = all.scope,
             .elsewhere = all.elsewhere > 0,
             .attempts = static_cast<std::int64_t>(part.attempts.size()),
             .requests = part.requests,
             .whole = part.attempts.size() == all.attempts.size()};
  if (part.requests == 0 || std::ranges::all_of(part.attempts, &recording::attempt::refused)) {
    f.withheld = "nothing was accepted in what was looked at";
    return f;
  }
  if (part.timed && part.throttled_share() > 0 && refused_by_chance(part, load_of_refusals(part))) {
    f.withheld = "refusals came at any pace: no limit of its own explains them";
    return f;
  }
  std::optional<fitted> fits;
  try {
    fits = fit(part);
  } catch (fatal const& error) {
    f.withheld = error.what();
    return f;
  }
  auto const& made = *fits;
  f.like = made.like;
  if (made.limit.empty()) {
    f.withheld = "no limit was met; not known: " + made.unknown.front();
    return f;
  }
  f.limit = made.limit;
  f.how_sure = made.findings.front().how_sure;
  if (!made.like.holds()) {
    f.withheld = fmt::format("the server fitted to it ({}) {}", f.limit, made.like.in_words());
    return f;
  }
  comparing how{.seeds = {1, 2, 3},
                .events_max = 20'000 + 60 * static_cast<std::int64_t>(part.attempts.size())};
  for (auto const* const name : laws) how.laws.push_back(*sim::contender_named(name));
  std::vector servers{made.server};
  servers.front().governing = made.governing;
  auto const done = compare(servers, how).front();
  for (auto const& r : done.rows) f.rows.push_back(row_of(r));
  std::ranges::stable_sort(f.rows, {}, [](auto const& r) { return std::pair(!r.ended, r.took); });
  f.rows.insert(f.rows.begin(), row_of(done.told));
  return f;
}

}  // namespace headway::app
