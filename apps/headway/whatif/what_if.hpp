/// What another law would have done with the answers that a recorded run got.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headway/time.hpp"

namespace headway::app {

/// How a run sent, over all scopes.
struct sending {
  std::int64_t requests = 0;  ///< that came to their end
  std::int64_t attempts = 0;
  std::int64_t throttled = 0;
  duration first{};  ///< send, since the run began
  duration last{};
  double rate = 0;       ///< attempts per second from the first to the last
  std::size_t peak = 0;  ///< most attempts in one second
  int in_flight_max = 0;

  friend bool operator==(sending const&, sending const&) = default;
};

struct what_if_result {
  std::string law;  ///< that recorded
  sending recorded;
  sending other;
  std::int64_t ahead = 0;       ///< attempts that go earlier than the recorded ones
  duration ahead_max{};         ///< by how much, at most
  std::int64_t unanswered = 0;  ///< requests left: parked, or no answer for another attempt
};

/// Returns the laws that may take its place: those of a simulation that need not be told a limit.
std::vector<std::string> laws_of_what_if();

/// The same requests in the same order, under `law`; the n-th attempt of a scope gets the answer,
/// the latency and the chance of the recorded n-th.
///
/// A request is there when the run had read it; once the run held as many as it may, the next is
/// there as soon as there is room. It says when this law would have sent, given these answers, not
/// how the server would have answered: an attempt that goes earlier than the recorded one may well
/// have been throttled, so those are counted.
/// An attempt that a quota held goes no sooner than it let it go then. Memory grows with how far
/// the two run apart. Errors: fatal(exit_usage) that names file:line, or the laws.
what_if_result what_if(std::string const& path, std::string const& law);

}  // namespace headway::app
