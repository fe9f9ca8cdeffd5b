/// A limit on how badly a run may go: failed>50, throttled>1%.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headway::app {

struct standing;

struct threshold {
  enum class counted : std::uint8_t { failed, unknown, throttled };

  counted what = counted::failed;
  double limit = 0;    ///< in percent where it is a share
  bool share = false;  ///< of the results, or of the attempts where throttles are counted
  std::string text{};  ///< as it was given

  /// "failed>50", "unknown>0", "throttled>1.5%". Throws std::invalid_argument, whose text says what
  /// is wrong and what is allowed.
  static threshold parse(std::string_view text);

  /// Whether `count` of `all` is more than it allows. Nothing is a share of none.
  bool crossed(std::int64_t count, std::int64_t all) const noexcept;

  /// How a run that stands so crosses it, "51 of 80 requests failed"; nullopt if it does not. An
  /// attempt that is still out counts as none yet; a share of fewer than `share_of_min` says
  /// nothing yet.
  std::optional<std::string> crossed_by(standing const&, std::int64_t share_of_min) const;
};

}  // namespace headway::app
