// A stranger's program. parts() is in another file: what a header defines must be usable in two.
#include <variant>

#include "headway_core.hpp"

bool parts(headway::any_law const& reno);

int main() {
  headway::default_governor governor;
  headway::time_point const now{};
  auto const id = std::get<headway::ticket>(governor.submit(now));
  if (governor.next(now) != id) return 1;
  governor.start(now, id, 1);
  auto const answer = headway::attempt_result{.what = headway::outcome::throttle,
                                              .advice = {.retry_after = std::chrono::seconds(7)}};
  if (governor.finish(now, id, answer, 2).what != headway::verdict::retry) return 2;
  if (to_string(governor.why(now).why) != "server hint") return 3;

  auto const* reno = headway::shipped_law_named("reno");
  return reno && parts(reno->law) ? 0 : 4;
}
