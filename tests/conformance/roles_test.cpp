// What models a role, and what must not: checked by the compiler.

#include <chrono>
#include <concepts>
#include <type_traits>

#include "headway/driver/auto_sleeper.hpp"
#include "headway/headway.hpp"
#include "headway/keyed.hpp"

namespace headway {
namespace {

static_assert(backoff<proportional_jitter<exponential_backoff>>);
static_assert(law<paced<gcra, reno>> && law<paced<adaptive_rate, tahoe>>);

// A policy of one role does not serve as another.
static_assert(!backoff<gcra> && !backoff<reno> && !backoff<seek>);
static_assert(!pacer<full_jitter> && !pacer<reno> && !pacer<seek>);
static_assert(!window<full_jitter> && !window<gcra> && !window<seek>);
static_assert(!law<full_jitter> && !law<gcra> && !law<reno>);

// Each of these misses one thing that the role asks for.
struct may_throw {
  duration delay(int, duration, fraction) const { return {}; }
  bool operator==(may_throw const&) const = default;
};
struct returns_a_count {
  long delay(int, duration, fraction) const noexcept { return 0; }
  bool operator==(returns_a_count const&) const = default;
};
struct changes_when_asked {
  duration delay(int, duration, fraction) noexcept { return {}; }
  bool operator==(changes_when_asked const&) const = default;
};
struct has_no_equality {
  duration delay(int, duration, fraction) const noexcept { return {}; }
};
struct owns_a_generator {
  rng draw{1};
  duration delay(int, duration, fraction) const noexcept { return {}; }
};
static_assert(!backoff<may_throw> && !backoff<returns_a_count> && !backoff<changes_when_asked> &&
              !backoff<has_no_equality> && !backoff<owns_a_generator>);

struct whole_permits : fixed_window {
  int allowed() const noexcept { return 1; }
};
static_assert(window<fixed_window> && !window<whole_permits>);

struct late_by_a_duration : unpaced {
  duration ready_at(std::int64_t) const noexcept { return {}; }
};
static_assert(pacer<unpaced> && !pacer<late_by_a_duration>);

struct deaf_to_hints {
  time_point ready_at(std::int64_t) const noexcept { return {}; }
  double allowed() const noexcept { return 1; }
  stamp take(time_point, std::int64_t, fraction) noexcept { return {}; }
  void on_success(time_point, sample const&, fraction) noexcept {}
  void on_throttle(time_point, sample const&, resource, fraction) noexcept {}
  void on_failure(time_point, sample const&, fraction) noexcept {}
  bool operator==(deaf_to_hints const&) const = default;
};
static_assert(!law<deaf_to_hints>);

// Chance and time cannot be copied or confused.
static_assert(std::movable<rng> && !std::copyable<rng>);
static_assert(!std::convertible_to<std::uint64_t, rng>);
static_assert(!std::convertible_to<std::int64_t, duration>);
static_assert(!std::convertible_to<double, duration>);
static_assert(!std::convertible_to<std::chrono::steady_clock::time_point, time_point>);
static_assert(!std::convertible_to<std::chrono::system_clock::time_point, time_point>);
template <class Clock>
concept tells_the_time = requires {
  Clock::now();
};
static_assert(!tells_the_time<timeline> && tells_the_time<std::chrono::steady_clock>);
static_assert(!std::convertible_to<std::uint64_t, ticket>);

// Governors are values.
static_assert(std::regular<default_governor> && std::regular<any_governor>);
static_assert(std::regular<governor_settings> && std::regular<retry_budget>);

}  // namespace
}  // namespace headway
