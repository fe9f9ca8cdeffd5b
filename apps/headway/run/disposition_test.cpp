#include "run/disposition.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

TEST(disposition, the_first_row_that_applies_decides) {
  struct {
    char const* what;
    circumstances of;
    disposition then;
  } const rows[] = {
      {"done", {}, disposition::end},
      {"failed for good",
       {.what = reaction::transient, .ruling = verdict::give_up},
       disposition::end},
      {"refused by the rate",
       {.what = reaction::rate, .ruling = verdict::retry},
       disposition::wait},
      {"broken, and safe to repeat",
       {.what = reaction::transient, .ruling = verdict::retry},
       disposition::wait},
      {"a retry that comes too late",
       {.what = reaction::rate, .deadline_passed = true, .ruling = verdict::retry},
       disposition::expire},
      {"a hint beyond our patience",
       {.what = reaction::rate, .ruling = verdict::park},
       disposition::park},
      {"a parked request has no deadline to miss",
       {.what = reaction::rate, .deadline_passed = true, .ruling = verdict::park},
       disposition::park},
      {"no credit", {.what = reaction::money}, disposition::stop_lane},
      {"a ban by its code", {.what = reaction::refused}, disposition::stop_lane},
      {"a 401 with a value to renew comes before the stop",
       {.what = reaction::refused, .value_refused = true},
       disposition::renew},
      {"refused after the account was stopped",
       {.what = reaction::rate, .lane_stopped = true, .ruling = verdict::retry},
       disposition::leave_open},
      {"broken after the account was stopped",
       {.what = reaction::transient, .lane_stopped = true, .ruling = verdict::retry},
       disposition::leave_open},
      {"parked after the account was stopped",
       {.what = reaction::rate, .lane_stopped = true, .ruling = verdict::park},
       disposition::leave_open},
      {"refused alone for too long",
       {.what = reaction::rate, .refused_alone = true, .ruling = verdict::park},
       disposition::leave_open},
      {"served after the account was stopped", {.lane_stopped = true}, disposition::end},
      {"done in part", {.has_remainder = true}, disposition::go_on},
      {"a refusal with a remainder is a refusal",
       {.what = reaction::rate, .has_remainder = true, .ruling = verdict::retry},
       disposition::wait},
      {"a kept connection that was closed",
       {.what = reaction::transient, .goes_at_once = true},
       disposition::go_again},
      {"served, when another run has the line", {.lost = true}, disposition::leave_open},
      {"refused, when another run has the line",
       {.lost = true, .what = reaction::rate, .ruling = verdict::retry},
       disposition::leave_open},
      {"a redirect", {.what = reaction::permanent, .may_follow = true}, disposition::follow},
      {"a redirect that the profile takes for a success",
       {.what = reaction::served, .may_follow = true},
       disposition::end},
  };
  for (auto const& row : rows) EXPECT_EQ(disposition_of(row.of), row.then) << row.what;
}

}  // namespace
}  // namespace headway::app
