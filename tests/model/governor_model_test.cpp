// Random histories of the governor and its naive model. A failure prints the HEADWAY_SEED that
// repeats it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <vector>

#include "history.hpp"
#include "seeds.hpp"

namespace headway {
namespace {

struct named_settings {
  char const* name;
  governor_settings settings;
};
std::vector<named_settings> const all_settings = {
    {"default", {}},
    {"back_off", {.throttled = after_throttle::back_off}},
    {"share_level", {.throttled = after_throttle::share_level, .quiet_successes = 3}},
    {"no first_alone", {.first_alone = 0ns}},
    {"rate_ceiling", {.rate_ceiling = gcra::per(20, 1s, 3)}},
    {"in_flight_max", {.first_alone = 0ns, .in_flight_max = 2}},
    {"queue_max", {.queue_max = 3, .first_alone = 0ns}},
    {"budget, no income",
     {.attempts_max = 100,
      .first_alone = 0ns,
      .budget = {.ratio = 0.1, .per_second = 0, .balance = 2}}},
    {"budget, slow income",
     {.attempts_max = 100,
      .budget = {.ratio = 0, .per_second = 0.5, .balance_max = 1, .balance = 1}}},
    {"all",
     {.attempts_max = 2,
      .queue_max = 5,
      .hint_max = 1s,
      .throttled = after_throttle::back_off,
      .rate_ceiling = gcra::per(50, 1s, 5),
      .in_flight_max = 3}},
};

template <class L>
struct governor_model : testing::Test {};
using laws = testing::Types<seek, paced<unpaced, reno>, paced<unpaced, fixed_window>,
                            paced<gcra, fixed_window>, auto_sleeper>;
TYPED_TEST_SUITE(governor_model, laws);

TYPED_TEST(governor_model, agrees_with_the_governor) {
  std::set<reason> met;
  int in_vain = 0;
  for (auto const& row : all_settings)
    for (auto const seed : seeds(40)) {
      SCOPED_TRACE(rerun(seed) + ", " + row.name);
      history<TypeParam> one(row.settings, TypeParam{}, rng(seed));
      one.run(500);
      if (testing::Test::HasFailure()) return;
      met.merge(one.met);
      in_vain += one.in_vain;
    }
  if (std::getenv("HEADWAY_SEED")) return;
  met.erase(reason::server_broken);  // of a law that tells
  EXPECT_EQ(met.size() + !met.contains(reason::pace) + !met.contains(reason::window), 12U)
      << "the histories are too tame: they do not meet every reason";
  EXPECT_GT(in_vain, 0) << "likewise";
}

}  // namespace
}  // namespace headway
