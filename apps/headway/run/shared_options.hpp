/// Shared options: what a starter tells all workers of a queue, so that they make the same requests
/// and results of its lines.
#pragma once

#include <string>
#include <string_view>

#include "jobs/job.hpp"
#include "run/options.hpp"

namespace headway::app {

/// Returns those of `options` as text. `preface`: as jobs_part takes it. No header and no
/// credential is among them.
std::string shared_text(run_options const& options, std::string_view preface);

/// What the text says of lines.
struct shared_lines {
  line_options options{};
  std::string preface{};
};
/// Sets in `options` what the text says of results, and returns what it says of lines. The text is
/// input from the network: no line reads a file of this host.
///
/// Errors: fatal(exit_usage) where it is not what shared_text() makes.
shared_lines adopt(run_options& options, std::string_view text);

}  // namespace headway::app
