/// The canary: finds out early that a run cannot succeed.
#pragma once

#include <span>
#include <string>

#include "journal/result.hpp"

namespace headway::app {

/// Watches the first results of a run: a wrong key, path or body fails them all in the same way.
class canary {
 public:
  static constexpr int watched = 20;

  /// A request has ended; `status`: what refused it for good, 0 where it ended in any other way.
  /// True once, when all that are watched were refused by the same status.
  bool dies(int status) noexcept {
    if (seen_ == watched) return false;
    if (seen_ == 0) first_ = status;
    if (status == 0 || status != first_) {
      seen_ = watched;
      return false;
    }
    return ++seen_ == watched;
  }

  /// What to tell of its death: `last` is a result that it has seen, `headers` what was sent and is
  /// not shown; `journal`: there is one.
  static std::string why_it_died(result const& last, std::span<std::string const> headers,
                                 bool journal);

 private:
  int seen_ = 0;
  int first_ = 0;
};

}  // namespace headway::app
