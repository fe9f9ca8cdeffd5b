#include "status/conclusion.hpp"

#include <fmt/format.h>

#include "base/words.hpp"

namespace headway::app {

conclusion conclusion_of(remains const& r, duration wait_max, time_point now) {
  auto const patience = in_words(wait_max);
  if (r.parked && r.parked->broken)
    return {exit_parked, fmt::format("parked: nothing but failures for longer than --wait-max {}; "
                                     "run the same command again later",
                                     patience)};
  if (r.parked)
    return {exit_parked,
            fmt::format(
                "parked: the server asks to wait {}, which is more than --wait-max {}; run the "
                "same command again then",
                r.parked->until == never ? "for ever" : in_words(r.parked->until - now), patience)};
  if (!r.alone.empty())
    return {exit_parked, fmt::format("left open: refused for longer than --wait-max {}: {}; run "
                                     "the same command again later",
                                     patience, r.alone)};
  if (r.missed) return {exit_threshold, *r.missed};
  return {r.failed ? exit_failed : exit_ok, ""};
}

}  // namespace headway::app
