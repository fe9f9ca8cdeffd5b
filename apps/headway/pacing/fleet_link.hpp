/// The fleet that a process is in, as its lanes and its loop see it.
#pragma once

#include <functional>
#include <memory>

#include "headway/fleet/place.hpp"
#include "os/file.hpp"

namespace headway::app {

/// Threads: one, beside those of the place.
class fleet_link {
 public:
  /// `join` makes a place that calls what it is given when a pace may know a turn.
  explicit fleet_link(
      std::function<std::unique_ptr<fleet::place>(std::function<void()> news)> const& join);

  fleet::place& place() noexcept { return *place_; }
  /// Readable when the lanes are to look again.
  int event_fd() const noexcept { return event_.fd(); }
  /// It is not readable any more, until there is news.
  void heard() noexcept;

 private:
  file event_;
  std::unique_ptr<fleet::place> place_;
};

}  // namespace headway::app
