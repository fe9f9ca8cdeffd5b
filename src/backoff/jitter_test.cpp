#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "headway/backoff/constant.hpp"
#include "headway/backoff/decorrelated_jitter.hpp"
#include "headway/backoff/equal_jitter.hpp"
#include "headway/backoff/full_jitter.hpp"
#include "headway/backoff/proportional_jitter.hpp"

namespace headway {
namespace {

constexpr fraction least = 0;
constexpr fraction middle = fraction{1} << 63;
constexpr fraction most = std::numeric_limits<fraction>::max();

// min(cap, base * 2^attempt) of the article's base 1 s, cap 10 s: 1, 2, 4, 8, 10, 10 s.
TEST(full_jitter, between_zero_and_the_exponential) {
  full_jitter const policy{.base = 1s, .cap = 10s};
  struct {
    int attempt;
    fraction u;
    duration expect;
  } const rows[] = {
      {0, least, 0s},      {0, middle, 500ms},      {0, most, 1s - 1ns},
      {3, least, 0s},      {3, middle, 4s},         {3, most, 8s - 1ns},
      {4, middle, 5s},     {1'000'000, middle, 5s}, {1'000'000, most, 10s - 1ns},
      {2, middle / 2, 1s},
  };
  for (auto const& r : rows) EXPECT_EQ(policy.delay(r.attempt, {}, r.u), r.expect) << r.attempt;
}

TEST(equal_jitter, between_half_and_all_of_the_exponential) {
  equal_jitter const policy{.base = 1s, .cap = 10s};
  struct {
    int attempt;
    fraction u;
    duration expect;
  } const rows[] = {
      {0, least, 500ms}, {0, middle, 750ms},     {0, most, 1s - 1ns},
      {3, least, 4s},    {3, middle, 6s},        {3, most, 8s - 1ns},
      {4, least, 5s},    {1'000'000, least, 5s}, {1'000'000, most, 10s - 1ns},
  };
  for (auto const& r : rows) EXPECT_EQ(policy.delay(r.attempt, {}, r.u), r.expect) << r.attempt;
}

TEST(decorrelated_jitter, between_base_and_thrice_the_last) {
  decorrelated_jitter const policy{.base = 1s, .cap = 10s};
  struct {
    char const* what;
    duration previous;
    fraction u;
    duration expect;
  } const rows[] = {
      {"at first the last is the base", 0s, least, 1s},
      {"", 0s, middle, 2s},
      {"", 0s, most, 3s - 1ns},
      {"", 2s, least, 1s},
      {"", 2s, middle, 3500ms},
      {"", 2s, most, 6s - 1ns},
      {"capped", 4s, most, 10s},
      {"capped", 10s, middle, 10s},
      {"the cap binds the last, too", 1h, least, 1s},
  };
  for (auto const& r : rows)
    EXPECT_EQ(policy.delay(7, r.previous, r.u), r.expect) << r.what << r.previous.count();
}

TEST(decorrelated_jitter, chains) {
  decorrelated_jitter const policy{.base = 100ms, .cap = 20s};
  duration last{};
  for (auto const expect : {200'000us, 350'000us, 575'000us, 912'500us, 1'418'750us})
    EXPECT_EQ(last = policy.delay(0, last, middle), expect);
  for (int i = 0; i < 100; ++i) last = policy.delay(0, last, most);
  EXPECT_EQ(last, 20s);
}

TEST(decorrelated_jitter, does_not_overflow_without_a_cap) {
  decorrelated_jitter const policy{.base = 1s, .cap = duration::max()};
  EXPECT_EQ(policy.delay(0, duration::max(), least), 1s);
  EXPECT_GT(policy.delay(0, duration::max(), most), duration::max() / 2);
  EXPECT_EQ((decorrelated_jitter{.base = 2s, .cap = 1s}.delay(0, {}, most)), 1s);
}

// Seed 000's example: factor 0.2 of a delay that doubles from 1 s: 1.6 to 2.4 s.
TEST(proportional_jitter, is_a_share_of_the_delay_either_way) {
  auto const of = [](duration wait, double factor, duration half_width_max) {
    return proportional_jitter<constant_backoff>{{wait}, factor, half_width_max};
  };
  struct {
    char const* what;
    proportional_jitter<constant_backoff> policy;
    duration least, middle, most;
  } const rows[] = {
      {"the text's", of(2s, 0.2, 2min), 1600ms, 2s, 2400ms},
      {"half-width capped", of(1h, 0.3, 2min), 58min, 60min, 62min},
      {"just not capped", of(400s, 0.3, 2min), 280s, 400s, 520s},
      {"factor zero", of(2s, 0, 2min), 2s, 2s, 2s},
      {"no half-width", of(2s, 0.2, 0s), 2s, 2s, 2s},
      {"all of it", of(2s, 1, 2min), 0s, 2s, 4s},
      {"no delay is negative", of(2s, 1.5, 2min), 0s, 2s, 5s},
      {"nor overflows", of(duration::max(), 0.3, duration::max()), duration(6456360425798343065),
       duration::max(), duration::max()},
  };
  for (auto const& r : rows) {
    EXPECT_NEAR(to_seconds(r.policy.delay(0, {}, least)), to_seconds(r.least), 3e-6) << r.what;
    EXPECT_NEAR(to_seconds(r.policy.delay(0, {}, middle)), to_seconds(r.middle), 3e-6) << r.what;
    EXPECT_NEAR(to_seconds(r.policy.delay(0, {}, most)), to_seconds(r.most), 3e-6) << r.what;
  }
}

}  // namespace
}  // namespace headway
