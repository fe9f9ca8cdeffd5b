/// Attempts in the order in which they were sent, though their answers come in another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "headway/time.hpp"

namespace headway::app {

/// An attempt that has ended.
struct tried {
  time_point sent{}, answered{};
  double units = 1;
  bool refused = false;
  bool hinted = false;  ///< the refusal said when to come back
};

/// Keeps what has ended until all that was sent before it has. Threads: a value.
class in_order {
 public:
  static constexpr std::uint64_t none = ~std::uint64_t{};  ///< the number of no attempt
  static constexpr std::size_t most = 4096;  ///< that it keeps; the oldest is forgotten

  /// Takes that one goes. Returns its number.
  std::uint64_t sent(time_point now) {
    if (all_.size() == most) all_.pop_front(), ++first_;
    all_.push_back({.what = {.sent = now}});
    return first_ + all_.size() - 1;
  }
  /// Takes how it ended; `sent` is known.
  void ended(std::uint64_t number, tried how) {
    if (auto* const e = of(number)) {
      how.sent = e->what.sent;
      *e = {how, state::known};
    }
  }
  /// Takes that it tells nothing.
  void forget(std::uint64_t number) {
    if (auto* const e = of(number)) e->is = state::gone;
  }
  /// Returns the next one, once it is known.
  std::optional<tried> next() {
    while (!all_.empty() && all_.front().is != state::out) {
      auto const e = all_.front();
      all_.pop_front(), ++first_;
      if (e.is == state::known) return e.what;
    }
    return std::nullopt;
  }

 private:
  enum class state : std::uint8_t { out, known, gone };
  struct entry {
    tried what{};
    state is = state::out;
  };
  entry* of(std::uint64_t number) {
    return number >= first_ && number - first_ < all_.size() ? &all_[number - first_] : nullptr;
  }

  std::deque<entry> all_{};
  std::uint64_t first_ = 0;
};

}  // namespace headway::app
