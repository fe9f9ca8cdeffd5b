/// What `headway mock --style openai` is beside a server: two quotas, requests and tokens, and how
/// OpenAI speaks of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headway/random.hpp"
#include "headway/time.hpp"

namespace headway::app {

/// A bucket that fills continuously, full at first.
struct refilling {
  std::string_view what;  ///< "requests", "tokens"
  double per_second = 0;
  double capacity = 0;
  double level = capacity;
  time_point as_of{};

  void refill(time_point now) noexcept;
  /// Until it holds `units`. Requires: refill(now), units <= capacity.
  duration until(double units) const noexcept;
};

/// "500/min" or "500/min,burst=20", which is how many at once; without it as many as a period's.
/// Throws std::invalid_argument, whose text says what is wrong and what is allowed.
refilling parse_refilling(std::string_view what, std::string_view text);

/// What becomes of one request for a completion.
struct completion {
  std::int64_t charged = 0;         ///< tokens: bytes / 4 + max_tokens; 0 where it was refused
  std::int64_t prompt = 0;          ///< tokens
  std::int64_t completed = 0;       ///< tokens, at most max_tokens
  std::string refusal{};            ///< the body of the 429; "" where it was accepted
  std::optional<duration> again{};  ///< when a refused one would fit if nothing else came
  std::vector<std::pair<std::string, std::string>> fields{};  ///< of the answer
};

/// Charges a request's tokens when it arrives, as an estimate, and gives nothing back.
/// Source: platform.openai.com/docs/guides/rate-limits, as of 2026-06.
class completions {
 public:
  /// A quota that is not given does not limit.
  completions(std::optional<refilling> requests, std::optional<refilling> tokens);

  /// Requires: `now` is not before the last arrival.
  completion arrive(time_point now, std::string_view body, fraction u);

 private:
  std::optional<refilling> requests_, tokens_;
};

/// The body of a 200.
std::string answer_of(completion const&, std::uint64_t number);

/// 374ms, 7.66s, 6m0s, rounded up to a millisecond: as Go writes it.
std::string go_duration(duration);

}  // namespace headway::app
