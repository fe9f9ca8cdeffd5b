#include "headway/law/shipped.hpp"

#include <algorithm>
#include <array>

namespace headway {

std::span<shipped_law const> shipped_laws() {
  static auto const everything = fixed_window{1e9};
  static any_backoff const patient{hesitant::wait};
  static std::array const all = {
      shipped_law{.name = "seek",
                  .what = "looks for the ceiling and stays just below it (the default)"},
      shipped_law{.name = "reno",
                  .what = "a congestion window, halved on a throttle",
                  .law = {paced<hesitant, reno>{}}},
      shipped_law{.name = "reno-0.9",
                  .what = "a congestion window, cut to 0.9 on a throttle",
                  .law = {paced<hesitant, reno>{.win = {.beta = 0.9}}}},
      shipped_law{.name = "tahoe",
                  .what = "a congestion window that starts again on a throttle",
                  .law = {paced<hesitant, tahoe>{}}},
      shipped_law{.name = "adaptive-rate",
                  .what = "a rate, halved on a throttle, and a decaying shared backoff",
                  .law = {paced<adaptive_rate, fixed_window>{.win = everything}},
                  .throttled = after_throttle::share_level},
      shipped_law{.name = "auto-sleeper",
                  .what = "one worker whose sleep grows and shrinks",
                  .law = {auto_sleeper{}}},
      shipped_law{.name = "exponential",
                  .what = "no pace at all: every request retries after its own exponential backoff",
                  .backoff = patient,
                  .law = {paced<unpaced, fixed_window>{.win = everything}},
                  .throttled = after_throttle::back_off},
      shipped_law{.name = "fixed",
                  .what = "only --rate and --concurrency; what is refused backs off by itself",
                  .backoff = patient,
                  .law = {paced<unpaced, fixed_window>{.win = everything}},
                  .throttled = after_throttle::back_off},
  };
  return all;
}

shipped_law const* shipped_law_named(std::string_view name) {
  auto const all = shipped_laws();
  auto const found = std::ranges::find(all, name, &shipped_law::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace headway
