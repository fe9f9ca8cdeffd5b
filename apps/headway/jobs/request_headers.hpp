/// The header lines of a job's request.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "jobs/job.hpp"

namespace headway::app {

/// Returns all header lines of the request: the job's own, then those of `given` that it does not
/// set itself, then the Content-Type of a JSON body and the Idempotency-Key unless set. A value may
/// be empty.
std::vector<std::string> request_headers(job const&, std::span<std::string const> given);

}  // namespace headway::app
