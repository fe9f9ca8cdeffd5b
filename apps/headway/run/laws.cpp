#include "run/laws.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "command.hpp"

namespace headway::app {

std::vector<law_choice> const& laws() {
  static auto const everything = fixed_window{1e9};
  static std::vector<law_choice> const all = {
      {.name = "seek", .what = "looks for the ceiling and stays just below it (the default)"},
      {.name = "reno",
       .what = "a congestion window, halved on a throttle",
       .law = {paced<unpaced, reno>{}}},
      {.name = "reno-0.9",
       .what = "a congestion window, cut to 0.9 on a throttle",
       .law = {paced<unpaced, reno>{.win = {.beta = 0.9}}}},
      {.name = "tahoe",
       .what = "a congestion window that starts again on a throttle",
       .law = {paced<unpaced, tahoe>{}}},
      {.name = "adaptive-rate",
       .what = "a rate, halved on a throttle, and a decaying shared backoff",
       .law = {paced<adaptive_rate, fixed_window>{.win = everything}},
       .throttled = after_throttle::share_level},
      {.name = "auto-sleeper",
       .what = "one worker whose sleep grows and shrinks",
       .law = {auto_sleeper{}}},
      {.name = "exponential",
       .what = "no pace at all: every request retries after its own exponential backoff",
       .backoff = {proportional_jitter<exponential_backoff>{
           .inner = {.initial = 50ms, .multiplier = 2, .cap = 30s},
           .randomization_factor = 0.5,
           .max_randomization = 15s}},
       .law = {paced<unpaced, fixed_window>{.win = everything}},
       .throttled = after_throttle::back_off},
      {.name = "fixed",
       .what = "only --rate and --concurrency",
       .law = {paced<unpaced, fixed_window>{.win = everything}}},
  };
  return all;
}

law_choice const& law_named(std::string_view name) {
  auto const found = std::ranges::find(laws(), name, &law_choice::name);
  if (found != laws().end()) return *found;
  std::string names;
  for (auto const& l : laws()) names.append(names.empty() ? "" : ", ").append(l.name);
  throw fatal(exit_usage, fmt::format("--law {}: no such law; it is one of {}", name, names));
}

std::string learned(any_law const& l) {
  if (auto const* s = std::get_if<seek>(&l.choice)) {
    if (s->answers == 0) return "";
    auto const latency = fmt::format("latency {:.0f} ms", s->srtt * 1e3);
    if (s->ceiling == 0) return fmt::format("no limit met up to {:.3g}/s, {}", s->rate, latency);
    return fmt::format("a limit of about {:.3g}/s, {}", s->ceiling, latency);
  }
  if (auto const* r = std::get_if<paced<unpaced, reno>>(&l.choice))
    return fmt::format("a window of {:.1f}", r->win.cwnd);
  if (auto const* t = std::get_if<paced<unpaced, tahoe>>(&l.choice))
    return fmt::format("a window of {:.1f}", t->win.cwnd);
  if (auto const* a = std::get_if<paced<adaptive_rate, fixed_window>>(&l.choice))
    return fmt::format("a rate of {:.3g}/s", a->pace.rate);
  if (auto const* a = std::get_if<auto_sleeper>(&l.choice))
    return fmt::format("an interval of {:.3g} s", to_seconds(a->current_interval));
  return "";
}

}  // namespace headway::app
