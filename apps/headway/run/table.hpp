/// The table of a run: the records of JOBS beside what came of them, as CSV.
#pragma once

#include <string>

#include "jobs/jobs_file.hpp"
#include "os/file.hpp"
#include "run/options.hpp"

namespace headway::app {

/// Writes the table that --out x.csv asks for: a row for each record that has a result, in the
/// order of JOBS, by its last result. The columns of the record come first, or id, url and meta
/// where a line is a request; then what is kept of a success's body, and how it ended. A column of
/// ours whose name the record has is called result_ and that name.
///
/// Replaces what was there, at once; memory does not grow with JOBS. Reads `jobs` from its
/// beginning. Errors: fatal, as those of JOBS and of replacement.
void write_table(jobs_file& jobs, file const& results, run_options const&);

}  // namespace headway::app
