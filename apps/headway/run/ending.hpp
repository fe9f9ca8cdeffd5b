/// An ending: how a request ended, as its result says it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/outcomes.hpp"
#include "client/transport.hpp"
#include "headway/governor.hpp"
#include "jobs/job.hpp"
#include "journal/result.hpp"
#include "run/options.hpp"
#include "run/request.hpp"

namespace headway::app {

struct ending {
  final_outcome how = final_outcome::failed;
  std::string reason{};  ///< why it failed, a line; "" if it did not
  int refused_by = 0;    ///< the status that refused it for good; 0: it ended in any other way
};

/// `taught`: what the last answer was to the governor; `last`: what the governor decided on it.
///
/// It is `unknown` where it was sent, must not be repeated and no whole answer says what became of
/// it.
ending ending_of(request const&, reply const&, outcome taught, decision const& last,
                 run_options const&);

/// Returns whether a request that ends so would have gone again, were it safe to repeat.
bool ended_for_safety(request const&, reply const&, outcome taught, decision const& last,
                      run_options const&);

/// Returns the result of a request that ends so without an answer, …
result result_of(request const&, ending const&);
/// … by an answer, …
result result_of(request const&, ending const&, reply const&, time_point now);
/// … or before it was a request. They refer to what they are made of.
result result_of(job const&, final_outcome, std::string_view reason);

/// Returns what to tell of the canary's death: `last` is a result that it has seen, `headers` what
/// was sent and is not shown; `journal`: there is one.
std::string why_canary_died(result const& last, std::span<std::string const> headers, bool journal);

}  // namespace headway::app
