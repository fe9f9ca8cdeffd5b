/// A scenario made of a recorded run: a server that would have answered as the recorded one did.
#pragma once

#include <string>
#include <vector>

#include "headway/sim/scenario.hpp"
#include "whatif/recording.hpp"

namespace headway::app {

/// What the same law makes of the scenario, beside what it made of the server.
struct likeness {
  duration took{}, recorded_took{};
  double throttled = 0, recorded_throttled = 0;  ///< shares of the attempts

  static constexpr double took_off_max = 0.10;       ///< of the recorded time
  static constexpr double throttled_off_max = 0.01;  ///< of the attempts

  /// Whether both are within their bounds.
  bool holds() const noexcept;
  /// "reproduces the run: 27.1 s, recorded 27.0 s; …", or that it does not.
  std::string in_words() const;
};

/// What was found of one thing, and how sure that is: for people.
struct finding {
  std::string what;  ///< "limit"
  std::string how_sure;
};

struct fitted {
  sim::scenario server;             ///< and its client, which asks for what the run asked for
  governor_settings governing{};    ///< of that client, as the run had them
  std::string limit{};              ///< as a scenario says it; "": none was met
  std::string toml;                 ///< the same as a scenario file, the findings as its comments
  std::vector<finding> findings{};  ///< the limit first
  std::vector<std::string> unknown{};  ///< what the recording cannot tell
  likeness like{};
};

/// Finds the kind of limit that explains the recorded answers best, among a rate with a burst,
/// slots, windows that are fixed, sliding or count refusals, and window counters, which may count
/// refusals, too; of those that explain them equally well, the one under which the recorded law
/// takes the recorded time. O(attempts × limits tried), a second or so. Errors: fatal(exit_usage)
/// where no scenario can be made of it.
fitted fit(recording const&);

}  // namespace headway::app
