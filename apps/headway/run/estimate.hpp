/// An estimate: what the rest of JOBS will take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headway/time.hpp"
#include "run/spending.hpp"

namespace headway::app {

/// How fast requests have ended in all runs of a journal, each from its first answer on.
struct tempo {
  double requests = 0;
  double seconds = 0;

  /// Of a note(); nothing where it is none.
  static tempo parse(std::string_view note);
  std::string note() const;
  void add(std::int64_t ended, duration took) noexcept;
};

/// Returns the costs of `left` requests at the average so far, and how long they take at the tempo
/// so far, as a sentence.
std::string estimate_of(std::int64_t left, spending const&, tempo const&);

}  // namespace headway::app
