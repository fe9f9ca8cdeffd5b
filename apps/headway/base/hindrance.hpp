/// What keeps requests of a scope from going, in plain words.
#pragma once

#include <cstdint>
#include <string>

#include "headway/time.hpp"

namespace headway::app {

struct hindrance {
  /// How bad it is; the worst is shown first.
  enum class kind : std::uint8_t { none, turn, throttled, broken, impasse };

  kind what = kind::none;    ///< `turn`: all is well, and it waits for its turn
  std::string where{};       ///< the host, and the scope if it has one
  std::string why{};         ///< "pace"; "broken: connection refused"
  std::string how_often{};   ///< "16 of 16", of the latest attempts; "" where that says nothing
  time_point until = never;  ///< when the next may go; never: that is not known
  bool stalls = false;       ///< nothing gets on: a speed of before tells nothing
  bool told = false;         ///< the server has said `until`, or a ceiling of its user's says it

  bool in_trouble() const noexcept { return what > kind::turn; }
};

}  // namespace headway::app
