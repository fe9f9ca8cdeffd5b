/// A hop: a request goes on to where a redirect says.
#pragma once

#include "client/transport.hpp"
#include "run/options.hpp"
#include "run/request.hpp"

namespace headway::app {

/// Turns it to where `answer`, a redirect, says, without what the next origin must not see. Returns
/// false where it does not go there: `said` of the request is why.
bool take_hop(request&, reply const& answer, run_options const&);

}  // namespace headway::app
