/// What a run did, from its trace and its results.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "headway/time.hpp"
#include "whatif/recording.hpp"

namespace headway::app {

/// Seconds, by what held the next request back, in words.
using held_for = std::map<std::string_view, double>;

/// A span of a run.
struct moment {
  std::int64_t accepted = 0, throttled = 0, failed = 0;  ///< answers, by when they were sent
  int in_flight = 0;                                     ///< at most
  double limit = 0, slots = 0;                           ///< believed at its end; 0: not known
  double p50 = 0, p99 = 0;                               ///< latency in seconds; 0: no answer
  held_for held{};
};

/// What answers say that requests have cost of a quota.
struct cost_figures {
  std::int64_t answers = 0;
  double expected = 0;  ///< beforehand: by the caller, else by the estimate
  double told = 0;
};

struct scope_figures {
  std::string name{};
  std::int64_t attempts = 0, throttled = 0, failed = 0;
  double limit = 0, slots = 0;  ///< met, or believed at the end; 0: not known
  bool met = false;             ///< its refusals tell it
  double kept_to = 0;           ///< a second, by quotas that were told; 0: they seldom held it
  double ceiling = 0;           ///< a second, of its user; 0: none
  bool by_chance = false;       ///< refusals came whatever was sent: there is no limit to tell
};

/// Of the trace.
struct traced_figures {
  std::string law{};
  std::int64_t requests = 0;  ///< ended
  std::int64_t attempts = 0, throttled = 0, failed = 0;
  duration took{};    ///< to the last line
  duration moment{};  ///< the span of one
  std::vector<app::moment> moments{};
  held_for held{};  ///< of all scopes
  std::vector<scope_figures> scopes{};
  std::map<std::string, cost_figures> costs{};              ///< by quota
  std::vector<std::pair<duration, std::string>> changed{};  ///< by headway ctl
};

/// Reads a trace. Errors: fatal(exit_usage) that names file:line.
traced_figures figures_of_trace(std::string const& path);

/// Puts the limit that the refusals of a scope tell in the place of the one that the law believed.
void find_limit(traced_figures&, recording const&);

/// How requests of one host ended.
struct ending_figures {
  std::int64_t count = 0;
  std::int64_t example_line = 0;  ///< the first in JOBS that ended so
  std::string example_id{}, reason{};
};

/// Of the results.
struct result_figures {
  std::int64_t success = 0, failed = 0, unknown = 0;
  std::int64_t attempts = 0, throttled = 0;
  std::int64_t copies = 0;           ///< of earlier results, to the byte; not counted
  std::int64_t after_success = 0;    ///< of an id that had succeeded: of another run, and counted
  std::int64_t elsewhere = 0;        ///< in the place of a failure of the same id with another URL
  double waited = 0;                 ///< seconds, of all requests together
  double p50 = 0, p99 = 0, max = 0;  ///< latency of the last attempts, seconds
  std::map<std::tuple<std::string, std::string, int>, ending_figures>
      endings{};  ///< by host, outcome and status
};

/// Reads a file of results. An id that has not succeeded may have another result, which takes the
/// place of the last one; a run never repeats what has, so what follows is another run's, and
/// counts. Errors: fatal(exit_usage) that names file:line.
result_figures figures_of_results(std::string const& path);

}  // namespace headway::app
