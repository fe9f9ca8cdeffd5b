/// The canary: finds out early that a run cannot succeed.
#pragma once

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

 private:
  int seen_ = 0;
  int first_ = 0;
};

}  // namespace headway::app
