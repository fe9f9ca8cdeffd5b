#include "whatif/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/fatal.hpp"
#include "base/words.hpp"
#include "headway/sim/simulation.hpp"
#include "pacing/laws.hpp"
#include "scenario/grammar.hpp"
#include "scenario/scenario_file.hpp"
#include "whatif/load.hpp"
#include "whatif/trial.hpp"

namespace headway::app {
namespace {

constexpr std::size_t explained_max = 20'000;  // attempts that a limit is tried on
constexpr auto const* by_the_clock = " by the clock";
constexpr std::int64_t against_least = 500;  // acceptances for one that speaks against a window
constexpr std::uint64_t seeds = 3;           // of the simulations that a recording is compared with

/// A limit as a scenario says it, and how much of what was recorded it explains.
struct candidate {
  std::string words;
  std::string kind;
  trial of{};
  duration period{};  ///< of a window …
  double units = 0;   ///< … and what it gives; a rate's a second
  duration phase{};   ///< of a clock's period that was over when the first request was there
  double score = of.score();

  /// Whether both say the same of how much may come in which time.
  bool has_the_size_of(candidate const& other) const noexcept {
    constexpr double off = 0.05;
    auto const window = period > 0ns, its = other.period > 0ns;
    return window == its && (window || kind == other.kind) &&
           std::abs(units - other.units) <= std::max(1.0, off * units) &&
           std::abs(to_seconds(period - other.period)) <= off * to_seconds(period);
  }
  /// Whether its period is one that people write, or it has none.
  bool is_written() const noexcept;
};

template <class Limit>
candidate tried(stretch all, Limit limit, std::string kind, std::string words) {
  auto const n = std::min(all.size(), explained_max);
  candidate c{.words = std::move(words), .kind = std::move(kind)};
  if constexpr (requires { limit.period; })
    c.period = limit.period, c.units = static_cast<double>(limit.count);
  else if constexpr (requires { limit.interval; })
    c.units = 1 / to_seconds(limit.interval);
  else
    c.units = static_cast<double>(limit.max_busy);
  c.of = try_out(all.first(n), std::move(limit));
  c.score = c.of.score();
  return c;
}

/// Whether a scenario may have that limit.
bool is_sayable(std::string const& words) {
  try {
    parse_limit(words);
    return true;
  } catch (std::invalid_argument const&) {
    return false;
  }
}

fatal unsayable(recording const& r) {
  return {exit_usage, r.file + ": no limit that a scenario may have explains its refusals"};
}

void keep_best(std::vector<candidate>& best, candidate c) {
  constexpr std::size_t kept = 6;  // of a kind
  if (c.of.explained == 0 || !is_sayable(c.words)) return;
  auto const same = std::ranges::find(best, c.words, &candidate::words);
  if (same == best.end())
    best.push_back(std::move(c));
  else if (same->score < c.score)
    *same = std::move(c);
  std::ranges::stable_sort(best, std::ranges::greater{}, &candidate::score);
  if (best.size() > kept) best.pop_back();
}

double mean_cost(stretch all) {
  double units = 0;
  for (auto const& a : all) units += static_cast<double>(a.cost);
  return units / static_cast<double>(all.size());
}

/// "50/s", "7.5/min": with what it takes to be exact to a part in a thousand, without an exponent.
std::string rate_of(double per_second) {
  if (per_second >= 1000) return fmt::format("{:.0f}/s", per_second);
  if (per_second >= 1) return fmt::format("{:.4g}/s", per_second);
  if (per_second * 60 >= 1) return fmt::format("{:.4g}/min", per_second * 60);
  return fmt::format("{:.4g}/h", per_second * 3600);
}

std::string time_of(duration d) {
  auto const us = std::llround(to_seconds(d) * 1e6);
  if (us < 10'000) return fmt::format("{}us", us);
  if (us < 100'000'000) return fmt::format("{}ms", (us + 500) / 1000);
  return fmt::format("{}s", us / 1'000'000);
}

candidate bucket(stretch all, double per_second, std::int64_t burst) {
  return tried(all, sim::token_bucket{.interval = from_seconds(1 / per_second), .burst = burst},
               "rate", fmt::format("rate={},burst={}", rate_of(per_second), burst));
}

/// Rates around what was accepted between refusals, with each burst; then closer around the best.
std::vector<candidate> buckets(stretch all) {
  auto const span = to_seconds(all.back().sent - all.front().sent);
  auto const mean = static_cast<double>(accepted(all)) / std::max(span, 0.1);
  auto const request = std::llround(std::max(1.0, mean_cost(all)));
  constexpr std::array<std::int64_t, 16> bursts = {1,  2,  3,  4,  5,   6,   8,   10,
                                                   15, 20, 30, 50, 100, 200, 500, 1000};
  std::vector<candidate> best;
  std::pair<double, std::int64_t> at{mean, 1};
  double score = -1;
  auto const look = [&](double rate, std::int64_t burst) {
    auto c = bucket(all, rate, burst);
    if (c.score > score) at = {rate, burst}, score = c.score;
    keep_best(best, std::move(c));
  };
  for (auto const burst : bursts)
    for (double rate = 0.7 * mean; rate < 4 * mean; rate *= 1.03) look(rate, burst * request);
  for (double step : {1.01, 1.003, 1.001}) {
    auto const [rate, burst] = at;
    auto const near = std::max<std::int64_t>(1, burst / 8);
    for (auto b : {burst - near, burst, burst + near})
      for (int k = -4; k <= 4; ++k)
        if (b >= 1 && rate > 0) look(rate * std::pow(step, k), b);
  }
  return best;
}

/// As many as were in flight at some refusal, or one more or less.
std::vector<candidate> slots(stretch all) {
  std::set<std::int64_t> counts;
  auto const flying = in_flight(all);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (auto n = flying[i] - 1; all[i].refused() && n <= flying[i] + 1; ++n)
      if (n > 0) counts.insert(n);
  constexpr std::size_t enough = 200;
  std::size_t const every = 1 + counts.size() / enough;
  std::vector<candidate> best;
  std::size_t i = 0;
  for (auto const n : counts)
    if (i++ % every == 0)
      keep_best(best, tried(all, sim::concurrency{.max_busy = n}, "slots",
                            fmt::format("concurrent={}", n)));
  return best;
}

std::string per(std::int64_t count, duration period) {
  return fmt::format("{}/{}s", count, period / duration(1s));
}

/// As people write them.
constexpr std::array<duration, 13> written_periods = {1s,   2s,   5s,   10s,   15s,   20s, 30s,
                                                      1min, 2min, 5min, 10min, 15min, 1h};

bool candidate::is_written() const noexcept {
  return period == 0ns || std::ranges::find(written_periods, period) != written_periods.end();
}

/// An end of refusals: at some time in between, accepted again.
struct opening {
  time_point shut{}, asked{}, opened{};  // the first refusal, the last, what was accepted

  duration shut_for() const noexcept { return opened - shut; }
};

/// Returns the openings, those after the longest rows of refusals first.
std::vector<opening> openings_of(stretch all) {
  constexpr std::size_t enough = 8;
  std::vector<opening> found;
  std::optional<opening> now;
  for (auto const& a : all) {
    if (a.refused()) {
      if (!now) now = {.shut = a.sent};
      now->asked = a.sent;
    } else if (now) {
      now->opened = a.sent;
      found.push_back(*now);
      now.reset();
    }
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, &opening::shut_for);
  if (found.size() > enough) found.resize(enough);
  return found;
}

/// Returns the periods that are tried: the written ones, and whole seconds from one opening to the
/// next.
std::vector<duration> periods_of(stretch all) {
  auto const span = all.back().sent - all.front().sent;
  std::set<duration> found;
  for (auto const p : written_periods)
    if (2 * p <= 3 * span) found.insert(p);
  auto openings = openings_of(all);
  std::ranges::sort(openings, {}, &opening::opened);
  auto before = all.front().sent;
  for (auto const& o : openings) {
    constexpr duration brief = 500ms;
    if (o.shut_for() >= brief && o.opened - before <= 1h)
      for (auto const at : {o.asked - before + duration(1s), o.opened - before})
        if (at >= 1s) found.insert(at / 1s * duration(1s));
    before = o.opened;
  }
  return {found.begin(), found.end()};
}

using window_of = candidate (*)(stretch, std::int64_t count, duration period);

constexpr std::array<window_of, 3> window_kinds = {
    [](stretch all, std::int64_t n, duration period) {
      return tried(all, sim::fixed_window{.count = n, .period = period}, "fixed window",
                   "window=" + per(n, period));
    },
    [](stretch all, std::int64_t n, duration period) {
      return tried(all, sim::sliding_window{.count = n, .period = period}, "sliding window",
                   "sliding=" + per(n, period));
    },
    [](stretch all, std::int64_t n, duration period) {
      return tried(all, sim::sliding_window{.count = n, .period = period, .counts_rejects = true},
                   "window that counts refusals", "sliding=" + per(n, period) + ",counts-rejects");
    }};

/// Counts up to the most that was accepted in a period; then each around the best.
std::vector<candidate> windows(stretch all, window_of try_it) {
  std::vector<candidate> best;
  for (auto const period : periods_of(all)) {
    auto const most = busiest(all, period);
    auto const step = 1 + most / 50;
    std::pair<double, std::int64_t> top{-1, most};
    auto const look = [&](std::int64_t n) {
      auto c = try_it(all, n, period);
      if (c.score > top.first) top = {c.score, n};
      keep_best(best, std::move(c));
    };
    for (auto n = std::max<std::int64_t>(1, most / 2); n <= most + 2; n += step) look(n);
    auto const middle = top.second, finer = std::max<std::int64_t>(1, step / 25);
    for (auto n = std::max<std::int64_t>(1, middle - step); n <= middle + step; n += finer) look(n);
  }
  return best;
}

/// Returns the attempts as if the first had been there so long after a whole period.
std::vector<recording::attempt> later_by(stretch all, duration phase) {
  std::vector<recording::attempt> moved(
      all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), explained_max)));
  for (auto& a : moved) a.sent += phase;
  return moved;
}

candidate at_phase(candidate c, duration phase) {
  c.phase = phase;
  return c;
}

/// Returns how much of a period may have been over at time 0: periods begin where as many openings
/// as can be agree, just after the last refusal of each at the earliest.
std::vector<duration> phases_of(stretch all, duration period) {
  constexpr std::size_t references = 3;
  auto const openings = openings_of(all);
  std::set<duration> found;
  for (std::size_t i = 0; i < std::min(openings.size(), references); ++i) {
    auto const& one = openings[i];
    auto least = one.asked - one.opened, most = duration(0);  // of the begin, since `one` opened
    for (auto const& o : openings) {
      auto apart = (o.opened - one.opened) % period;
      if (2 * apart > period) apart -= period;
      if (2 * apart < -period) apart += period;
      auto const from = std::max(least, apart - (o.opened - o.asked)), to = std::min(most, apart);
      if (from < to) least = from, most = to;
    }
    for (auto const at : {most, least + (most - least) / 2, least + (most - least) / 8})
      found.insert((period - (one.opened + at).time_since_epoch() % period) % period);
  }
  return {found.begin(), found.end()};
}

/// Windows that begin as the clock has them: as many as one accepted before it refused.
std::vector<candidate> clock_windows(stretch all) {
  std::vector<candidate> best;
  for (auto const period : periods_of(all))
    for (auto const phase : phases_of(all, period)) {
      auto const moved = later_by(all, phase);
      std::set<std::int64_t> counts;
      std::int64_t used = 0, most = 0;
      auto window = moved.front().sent.time_since_epoch() / period;
      for (auto const& a : moved) {
        if (auto const its = a.sent.time_since_epoch() / period; its != window)
          window = its, used = 0;
        if (a.refused() && used == most) counts.insert(used);
        used += a.accepted();
        most = std::max(most, used);
      }
      for (auto const n : {most - 1, most, most + 1}) counts.insert(n);
      constexpr std::size_t enough = 6;
      while (counts.size() > enough) counts.erase(counts.begin());
      for (auto const n : counts)
        if (n > 0)
          keep_best(
              best,
              at_phase(
                  tried(moved, sim::fixed_window{.count = n, .period = period, .aligned = true},
                        "fixed window by the clock", "window=" + per(n, period) + ",aligned"),
                  phase));
    }
  return best;
}

candidate counter(stretch all, sim::window_counter limit) {
  auto words = "counter=" + per(limit.count, limit.period);
  std::string kind = "window counter";
  if (limit.counts_rejects) words += ",counts-rejects", kind += " that counts refusals";
  if (limit.aligned) words += ",aligned", kind += by_the_clock;
  return tried(all, limit, std::move(kind), std::move(words));
}

/// Returns as much as was counted where refusals began, `late` after which the first request came.
std::int64_t counted_at(stretch all, std::vector<std::size_t> const& refusals, duration period,
                        bool counts_rejects, duration late) {
  auto load = load_at(all, {.what = measure::kind::two_parts,
                            .period = period,
                            .refusals_too = counts_rejects,
                            .late = late});
  for (std::size_t i = 0; i < all.size(); ++i) load[i] += static_cast<double>(all[i].cost - 1);
  return static_cast<std::int64_t>(threshold_of(all, load, 0, refusals).load);
}

std::vector<std::size_t> refusals_of(stretch all) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].refused()) found.push_back(i);
  return found;
}

/// As much as was counted where refusals began, or one more or less, however late the first request
/// came.
std::vector<candidate> counters(stretch all, bool counts_rejects) {
  std::vector<candidate> best;
  auto const refusals = refusals_of(all);
  for (auto const period : periods_of(all))
    for (auto const late : first_may_come(all)) {
      auto const count = counted_at(all, refusals, period, counts_rejects, late);
      for (auto n = std::max<std::int64_t>(1, count - 1); n <= count + 1; ++n)
        keep_best(best, counter(all, {.count = n,
                                      .period = period,
                                      .counts_rejects = counts_rejects,
                                      .start = later(all.front().sent, late)}));
    }
  return best;
}

/// The same by the clock: at sixteen phases, then closer around the best.
std::vector<candidate> clock_counters(stretch whole, bool counts_rejects) {
  std::vector<candidate> best;
  auto const all = whole.first(std::min(whole.size(), explained_max));
  auto const refusals = refusals_of(all);
  for (auto const period : periods_of(all)) {
    std::pair<double, duration> top{-1, 0ns};
    auto const look = [&](duration at) {
      auto const phase = (at % period + period) % period;
      auto const moved = later_by(all, phase);
      auto const count = counted_at(all, refusals, period, counts_rejects, -phase);
      for (auto n = std::max<std::int64_t>(1, count - 1); n <= count + 1; ++n) {
        auto c = at_phase(
            counter(
                moved,
                {.count = n, .period = period, .counts_rejects = counts_rejects, .aligned = true}),
            phase);
        if (c.score > top.first) top = {c.score, phase};
        keep_best(best, std::move(c));
      }
    };
    constexpr int parts = 16;
    for (int i = 0; i < parts; ++i) look(i * period / parts);
    for (int finer = 2; finer <= parts; finer *= 2) {
      auto const middle = top.second;
      for (int const side : {-1, 1}) look(middle + side * period / (parts * finer));
    }
  }
  return best;
}

duration quantile(std::vector<duration> const& sorted, double q) {
  return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1))];
}

std::vector<duration> latencies(stretch all, bool refused) {
  std::vector<duration> found;
  for (auto const& a : all)
    if (a.refused() == refused && a.what != outcome::failure) found.push_back(a.latency);
  std::ranges::sort(found);
  return found;
}

/// Writes the file, and keeps what it says of each line.
class writer {
 public:
  explicit writer(fitted& into) : into_(into) {}

  void line(std::string const& text) { into_.toml += text + "\n"; }
  void key(std::string const& what, std::string const& text, std::string how_sure) {
    line("# " + what + ": " + how_sure);
    line(text);
    into_.findings.push_back({what, std::move(how_sure)});
  }
  void unknown(std::string why) {
    line("# Not known: " + why);
    into_.unknown.push_back(std::move(why));
  }

 private:
  fitted& into_;
};

std::string latency_text(std::vector<duration> const& sorted) {
  constexpr int parts = 10;
  auto const low = quantile(sorted, 0.0), high = quantile(sorted, 0.99);
  if (high - low < 2ms || sorted.size() < 2 * parts)
    return fmt::format("latency = \"{}\"", time_of(quantile(sorted, 0.5)));
  std::string text = "latency = [";
  for (int i = 0; i < parts; ++i)
    text += fmt::format("{}\"{}..{}\"", i == 0 ? "" : ", ",
                        time_of(quantile(sorted, static_cast<double>(i) / parts)),
                        time_of(quantile(sorted, static_cast<double>(i + 1) / parts)));
  return text + "]";
}

/// All but the limit: the rest of the server, and its client, which comes in the middle of a period
/// of the clock's.
void write_rest(writer& to, recording const& r, duration phase) {
  auto const good = latencies(r.attempts, false), refused = latencies(r.attempts, true);
  if (!good.empty())
    to.key("latency", latency_text(good),
           fmt::format("deciles of {} answers, connection included", good.size()));
  if (!refused.empty())
    to.key("error-latency", fmt::format("error-latency = \"{}\"", time_of(quantile(refused, 0.5))),
           fmt::format("the median of {} refusals", refused.size()));
  auto const failed = std::ranges::count(r.attempts, outcome::failure, &recording::attempt::what);
  auto const served = static_cast<std::int64_t>(good.size()) + failed;
  if (failed > 0)
    to.key("failures",
           fmt::format("failures = \"{:.3g}%\"",
                       100 * static_cast<double>(failed) / static_cast<double>(served)),
           fmt::format("{} of {} that were not refused", failed, served));
  auto const advised = std::ranges::count(r.attempts, true, &recording::attempt::advised);
  if (2 * advised > static_cast<std::int64_t>(refused.size()) && advised > 0)
    to.key("hints", "hints = \"retry-after\"",
           fmt::format("{} of {} refusals said when to come back", advised, refused.size()));

  auto const cost = mean_cost(r.attempts);
  double squares = 0;
  for (auto const& a : r.attempts)
    squares += static_cast<double>(a.cost) * static_cast<double>(a.cost);
  auto const n = static_cast<double>(r.attempts.size());
  auto const cv = std::min(100.0, std::sqrt(std::max(0.0, squares / n - cost * cost)) / cost);
  auto costs = cost > 1
                   ? fmt::format(", cost = {:.4g}, cost-cv = {:.3g}, cost-known = true", cost, cv)
                   : std::string();
  auto const trickles = !r.filled_up && r.requests > 10 && 5 * r.last_request > 4 * r.took;
  if (trickles)
    costs += fmt::format(", arrivals = \"{}\"",
                         rate_of(static_cast<double>(r.requests - 1) / to_seconds(r.last_request)));
  if (phase > 0ns) costs += fmt::format(", joins = \"{}\"", time_of(phase));
  to.key(
      "clients", fmt::format("clients = {{ requests = {}{} }}", r.requests, costs),
      std::string(trickles ? "the requests came one by one" : "all requests were there at once") +
          (phase > 0ns ? "; they join so long after a whole period of the clock" : ""));
  if (r.took > 30min) to.line(fmt::format("lasts = \"{}h\"", 2 + 2 * (r.took / duration(1h))));
  to.line(fmt::format("attempts-max = {}", r.settings.attempts_max));
}

/// The law that ran, as it began.
sim::contender as_it_ran(recording const& r) {
  auto law = sim::contender_of(r.memory ? with_memory(r.law, *r.memory) : r.law);
  law.pool = 1;
  return law;
}

/// Its ceilings and its patience; what is there waits in its queue, not before it.
governor_settings governing(recording const& r, sim::scenario const& s) {
  auto as_it_was = r.settings;
  as_it_was.queue_max = std::size_t{1} << 40;
  auto const held = std::ranges::count(r.attempts, true, &recording::attempt::quota_held);
  if (4 * held > static_cast<std::int64_t>(r.attempts.size()) && !s.server.limits.empty())
    if (auto const* b = std::get_if<sim::token_bucket>(&s.server.limits.front()))
      as_it_was.rate_ceiling =  // the server had told it, and the run kept to it
          gcra::per(1 / to_seconds(b->interval), 1s, b->burst);
  return as_it_was;
}

likeness compared(recording const& r, sim::scenario s, governor_settings const& settings,
                  std::uint64_t runs_max, duration phase) {
  s.governing = settings;
  auto const law = as_it_ran(r);
  auto const enough = 20'000 + 20 * static_cast<std::int64_t>(r.attempts.size());
  std::vector<sim::figures> runs;
  for (std::uint64_t seed = 1; seed <= runs_max; ++seed) try {
      runs.push_back(sim::simulate(s, law, {.seed = seed, .events_max = enough}));
    } catch (std::runtime_error const&) {  // far more happens than did
      return {.took = duration::max(),
              .recorded_took = r.took,
              .throttled = 1,
              .recorded_throttled = r.throttled_share()};
    }
  std::vector<double> shares;
  std::vector<duration> took;
  for (auto const& f : runs) {
    took.push_back(f.completion - phase);
    shares.push_back(static_cast<double>(f.throttled) / static_cast<double>(f.attempts));
  }
  std::ranges::sort(took);
  std::ranges::sort(shares);
  return {.took = took[took.size() / 2],
          .recorded_took = r.took,
          .throttled = shares[shares.size() / 2],
          .recorded_throttled = r.throttled_share()};
}

/// How far it is from the recording; 1 is the bound of one of the two.
double distance(likeness const& l) {
  if (l.took == duration::max()) return std::numeric_limits<double>::infinity();
  return std::abs(to_seconds(l.took) / to_seconds(l.recorded_took) - 1) / likeness::took_off_max +
         std::abs(l.throttled - l.recorded_throttled) / likeness::throttled_off_max;
}

std::string_view without_clock(std::string_view kind) {
  return kind.substr(0, kind.find(by_the_clock));
}

/// Returns how sure it is that `best` is the limit: never where a run under it goes differently,
/// nor of a window of which one end was seen.
std::string how_sure(candidate const& best, std::vector<candidate> const& all, stretch recorded,
                     bool reproduces) {
  auto const worst =
      std::ranges::find_if(all, [&](candidate const& c) { return c.kind != best.kind; });
  auto const other = std::ranges::find_if(
      all, [&](candidate const& c) { return without_clock(c.kind) != without_clock(best.kind); });
  auto const rival =
      std::ranges::find_if(all, [&](candidate const& c) { return !c.has_the_size_of(best); });
  auto const ahead_of = [&](auto const& next) {
    return next == all.end() ? best.score : best.score - next->score;
  };
  auto const& of = best.of;
  auto const ends = first_refusals(recorded).size();
  bool const once = ends < 2 && best.period > 0ns;
  bool const exact = best.period == 0ns || against_least * of.against <= of.acceptances;
  bool const sure = of.refusals >= 8 && ends >= 3 && best.score > 0.8 && exact &&
                    ahead_of(worst) > 0.03 && ahead_of(other) > 0.1 && ahead_of(rival) > 0.1;
  bool const likely = of.refusals >= 5 && ends >= 2 && best.score > 0.6 && ahead_of(rival) > 0.05;
  auto const word = !reproduces || once ? "a guess" : sure ? "sure" : likely ? "likely" : "a guess";
  auto text = fmt::format("{}: explains {} of {} refusals, and {} acceptances speak against it",
                          word, of.explained, of.refusals, of.against);
  if (worst != all.end())
    text += fmt::format("; the best {} ({}) explains {}", worst->kind, worst->words,
                        worst->of.explained);
  if (once) text += "; it refused in one row only, which tells no period";
  if (!reproduces) text += "; a run under it goes differently";
  return text;
}

std::string in_one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '"' || c == '\\'; }, ' ');
  return text;
}

/// A scenario with that limit. `like`, where a run of it was compared before.
fitted with_limit(recording const& r, std::string const& limit, std::string how_sure,
                  std::uint64_t runs = seeds, duration phase = 0ns,
                  std::optional<likeness> like = {}) {
  fitted f;
  f.limit = limit;
  writer to(f);
  auto const file = in_one_line(std::filesystem::path(r.file).filename().string());
  to.line(fmt::format("about = \"made of {}\"", file));
  if (!r.scope.empty())
    to.line(fmt::format("# {} attempts at {} in {}", r.attempts.size(), in_one_line(r.scope),
                        in_words(r.took)));
  if (!limit.empty())
    to.key("limit", fmt::format("limit = \"{}\"", limit), std::move(how_sure));
  else
    to.unknown(std::move(how_sure));
  write_rest(to, r, phase);
  if (r.elsewhere > 0)
    to.unknown(fmt::format("the limits of {} other scopes, where {} attempts went", r.scopes - 1,
                           r.elsewhere));
  if (!r.timed)
    to.unknown(
        "when refused attempts were sent, what they took, and the law, here the default one; a "
        "trace "
        "(headway run --trace) has it");
  to.unknown("what others send to this server, and whether its limit changes");
  f.server = parse_scenario(f.toml, file + ".toml");
  f.governing = governing(r, f.server);
  f.like = like ? *like : compared(r, f.server, f.governing, runs, phase);
  to.line(fmt::format("# {}, as it ran, {}", r.law.name, f.like.in_words()));
  return f;
}

/// A quota that the server told was kept: there are no refusals, and its rate shows in the turns.
std::string told_quota(stretch all) {
  std::size_t first = all.size(), last = 0, held = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].quota_held) continue;
    first = std::min(first, i);
    last = i;
    ++held;
  }
  if (4 * held < all.size() || last < first + 10) return "";
  auto const span = to_seconds(all[last].sent - all[first].sent);
  auto const rate = static_cast<double>(last - first) / std::max(span, 1e-3);
  double saved = 0, burst = 1;  // the least that what was accepted takes
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) saved = std::max(0.0, saved - rate * to_seconds(all[i].sent - all[i - 1].sent));
    burst = std::max(burst, ++saved);
  }
  return fmt::format("rate={},burst={}", rate_of(rate), std::llround(std::ceil(burst)));
}

/// Limits that acceptances alone speak for: the rate at which they came, as many as were served at
/// a time, as many as came in a period.
std::vector<candidate> of_acceptances(stretch all) {
  std::vector<candidate> found;
  std::vector<time_point> sent;
  for (auto const& a : all) sent.push_back(a.sent);
  std::ranges::sort(sent);
  auto const n = sent.size();
  auto const tenth = n / 10;
  auto const span = to_seconds(sent[n - 1 - tenth] - sent[tenth]);
  auto const mean = n > 1 ? static_cast<double>(n - 1 - 2 * tenth) / std::max(span, 1e-3) : 1;
  for (double const above : {1.0, 1.015, 1.03, 1.05, 1.08})
    for (int const burst : {1, 2, 5, 10, 20, 50})
      found.push_back(
          {.words = fmt::format("rate={},burst={}", rate_of(above * mean), burst), .kind = "rate"});

  auto flying = in_flight(all);
  for (auto& busy : flying) ++busy;  // itself
  std::ranges::sort(flying);
  std::set<std::int64_t> const slots{flying[n / 2], flying[n - 1 - tenth], flying[n - 1 - n / 50],
                                     flying[n - 1]};
  for (auto const count : slots)
    found.push_back({.words = fmt::format("concurrent={}", count), .kind = "slots"});

  for (duration const period : std::array<duration, 5>{1s, 10s, 1min, 10min, 1h}) {
    if (2 * period > 3 * (sent.back() - sent.front())) break;
    auto const most = busiest(all, period);
    auto const add = [&](candidate c) {
      found.push_back({.words = std::move(c.words), .kind = std::move(c.kind)});
    };
    for (auto const try_it : window_kinds) add(try_it({}, most, period));
    for (bool const counts_rejects : {false, true})
      add(counter({}, {.count = most, .period = period, .counts_rejects = counts_rejects}));
  }
  return found;
}

/// Where refusals have no times: the limit under which the run would have gone as it did.
fitted of_untimed(recording const& r) {
  constexpr std::size_t enough = 10'000;  // attempts: each candidate is simulated
  struct tried_out {
    candidate what;
    double off;
  };
  std::vector<tried_out> ranked;
  for (auto& c : of_acceptances(r.attempts)) {
    if (!is_sayable(c.words)) continue;
    auto const off = r.attempts.size() > enough ? 0 : distance(with_limit(r, c.words, "").like);
    ranked.push_back({std::move(c), off});
  }
  if (ranked.empty()) throw unsayable(r);
  std::ranges::stable_sort(ranked, std::ranges::less{}, &tried_out::off);
  auto const& best = ranked.front();
  if (r.attempts.size() > enough)
    return with_limit(r, best.what.words,
                      "a guess: the rate of what was accepted; the run is too long to try others");
  constexpr double near = 2;  // both bounds together
  std::set<std::string_view> kinds{best.what.kind};
  std::string as_near;
  for (auto const& t : ranked)
    if (t.off <= near && kinds.insert(t.what.kind).second)
      as_near += fmt::format("{}{} ({})", as_near.empty() ? "; as near: " : ", ", t.what.kind,
                             t.what.words);
  return with_limit(
      r, best.what.words,
      fmt::format("{}: refusals have no times here; of {} limits this is nearest to the run{}",
                  as_near.empty() && best.off < 1 ? "likely" : "a guess", ranked.size(), as_near));
}

}  // namespace

bool likeness::holds() const noexcept {
  if (took == duration::max()) return false;
  return std::abs(to_seconds(took) - to_seconds(recorded_took)) <=
             took_off_max * to_seconds(recorded_took) &&
         std::abs(throttled - recorded_throttled) <= throttled_off_max;
}

std::string likeness::in_words() const {
  auto const time = took == duration::max() ? "no end" : app::in_words(took);
  return fmt::format("{}: {}, recorded {}; {:.1f} % refused, recorded {:.1f} %",
                     holds() ? "reproduces the run" : "DOES NOT reproduce the run", time,
                     app::in_words(recorded_took), 100 * throttled, 100 * recorded_throttled);
}

fitted fit(recording const& r) {
  auto const& all = r.attempts;
  constexpr double cost_max = 1e6;  // of a scenario
  if (auto const cost = mean_cost(all); cost > cost_max)
    throw fatal(exit_usage, fmt::format("{}: its requests cost {:.0f} units on average; a scenario "
                                        "may have up to {:.0f}",
                                        r.file, cost, cost_max));
  if (std::ranges::none_of(all, &recording::attempt::refused)) {
    if (auto const quota = told_quota(all); !quota.empty())
      return with_limit(r, quota, "sure: the server told it, and the run kept to it");
    if (r.throttled > 0) return of_untimed(r);
    return with_limit(
        r, "", fmt::format("the limit: up to {} in a second were all accepted", busiest(all, 1s)));
  }
  std::vector<candidate> ranked;
  auto const rank = [&](std::vector<candidate> const& some) {
    ranked.insert(ranked.end(), some.begin(), some.end());
  };
  rank(buckets(all));
  rank(slots(all));
  for (auto const kind : window_kinds) rank(windows(all, kind));
  rank(clock_windows(all));
  for (bool const counts_rejects : {false, true}) {
    rank(counters(all, counts_rejects));
    rank(clock_counters(all, counts_rejects));
  }
  if (ranked.empty()) throw unsayable(r);
  std::ranges::stable_sort(ranked, std::ranges::greater{}, &candidate::score);

  // Of those that explain as much, a period that people write is likelier than one that was
  // measured.
  auto const as_good = [&](candidate const& c) { return c.score >= ranked.front().score; };
  bool const any_written =
      std::ranges::any_of(ranked, [&](candidate const& c) { return as_good(c) && c.is_written(); });
  auto const* best = &ranked.front();
  auto nearest = std::numeric_limits<double>::infinity();
  for (auto const& c : ranked) {
    if (!as_good(c)) break;
    if (any_written && !c.is_written()) continue;
    auto const off = distance(with_limit(r, c.words, "", 1, c.phase).like);
    if (off < nearest) best = &c, nearest = off;
  }
  auto const like = with_limit(r, best->words, "", seeds, best->phase).like;
  auto sure = refused_by_chance(r, load_of_refusals(r))
                  ? "a guess: refusals came at any pace, as if by chance"
                  : how_sure(*best, ranked, all, like.holds());
  return with_limit(r, best->words, std::move(sure), seeds, best->phase, like);
}

}  // namespace headway::app
