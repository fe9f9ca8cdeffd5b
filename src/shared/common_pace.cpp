#include "headway/shared/common_pace.hpp"

#include <algorithm>

namespace headway {
namespace {

constexpr duration stopped_after = 300ms;  // without a look: no other waits for it
constexpr duration absent_after = 1s;      // … nor for its permits, which have come back
constexpr duration moment = 1ms;           // less than a law forgives a late request

/// The interval from the next turn to the one after it.
duration interval_of(any_law law, time_point turn) noexcept {
  law.take(turn, 1, {});
  return std::max(law.ready_at(1), turn) - turn;  // a law without a pace says "always"
}

}  // namespace

bool common_pace::absent(int whose, time_point now) const noexcept {
  return of(whose).waits && later(of(whose).looked, absent_after) <= now;
}

int common_pace::others_out(int me, time_point now) const noexcept {
  int sum = 0;
  for (int i = 0; i < members_max; ++i)
    if (i != me && !absent(i, now)) sum += of(i).out;
  return sum;
}

duration common_pace::deference(int me, time_point now) const noexcept {
  auto const first = std::ranges::count_if(members, [&](member const& m) {
    return m.here && m.waits && m.took < of(me).took && later(m.looked, stopped_after) > now;
  });
  if (first == 0) return duration(0);
  auto const turn = std::max(now, law.ready_at(1));
  auto const half = std::max(interval_of(law, turn) / 2, duration(0));
  return std::min(first * std::min(half, moment), std::max(half, moment));
}

int common_pace::size() const noexcept {
  return static_cast<int>(std::ranges::count_if(members, &member::here));
}

time_point common_pace::others_acted(int me) const noexcept {
  auto acted = time_point::min();
  for (int i = 0; i < members_max; ++i)
    if (i != me && of(i).here) acted = std::max({acted, of(i).looked, of(i).took});
  return acted;
}

bool common_pace::near(time_point now, duration patience) const noexcept {
  auto const turn = law.ready_at(1);
  auto const patient = later(now, patience);
  return turn <= patient || turn <= later(patient, interval_of(law, turn));
}

}  // namespace headway
