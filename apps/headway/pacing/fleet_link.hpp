/// The fleet that a process is in, as its lanes and its loop see it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "headway/fleet/place.hpp"
#include "os/file.hpp"

namespace headway::app {

/// Threads: one, beside those of the place.
class fleet_link {
 public:
  /// `name`: of the database, for people. `join` makes a place that calls what it is given when a
  /// pace may know a turn.
  fleet_link(std::string name,
             std::function<std::unique_ptr<fleet::place>(std::function<void()> news)> const& join);

  std::string const& name() const noexcept { return name_; }
  fleet::place& place() noexcept { return *place_; }
  /// Readable when the lanes are to look again.
  int event_fd() const noexcept { return event_.fd(); }
  /// It is not readable any more, until there is news.
  void heard() noexcept;

 private:
  std::string name_;
  file event_;
  std::unique_ptr<fleet::place> place_;
};

/// Returns what people are told of a fleet: "12 hosts, ~197/s, 1 unheard: at most 7.7 % more".
std::string words_of(fleet::standing const&, time_point now);
/// Returns by how much unheard hosts may exceed the limit, a share of it: "at most 7.7 % more".
std::string excess_in_words(double excess);
/// Returns why a request waits for a turn of its fleet, in place of `held`.
std::string why_in_fleet(fleet::standing const&, time_point now, std::string held);

}  // namespace headway::app
