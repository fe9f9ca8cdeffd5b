#include "run/disposition.hpp"

namespace headway::app {
namespace {

struct row {
  bool (*applies)(circumstances const&) noexcept;
  disposition then;
};

bool goes_again(circumstances const& c) noexcept {
  return c.ruling == verdict::retry || c.ruling == verdict::park;
}

constexpr row rows[] = {
    {[](auto const& c) noexcept { return c.lost; }, disposition::leave_open},
    {[](auto const& c) noexcept { return c.value_refused; }, disposition::renew},
    {[](auto const& c) noexcept { return stops(c.what); }, disposition::stop_lane},
    {[](auto const& c) noexcept { return c.what == reaction::served && c.has_remainder; },
     disposition::go_on},
    {[](auto const& c) noexcept { return c.goes_at_once; }, disposition::go_again},
    {[](auto const& c) noexcept { return c.what == reaction::permanent && c.may_follow; },
     disposition::follow},
    {[](auto const& c) noexcept { return !goes_again(c); }, disposition::end},
    {[](auto const& c) noexcept { return c.lane_stopped || c.refused_alone; },
     disposition::leave_open},
    {[](auto const& c) noexcept { return c.ruling == verdict::park; }, disposition::park},
    {[](auto const& c) noexcept { return c.deadline_passed; }, disposition::expire},
};

}  // namespace

disposition disposition_of(circumstances const& c) noexcept {
  for (auto const& r : rows)
    if (r.applies(c)) return r.then;
  return disposition::wait;
}

}  // namespace headway::app
