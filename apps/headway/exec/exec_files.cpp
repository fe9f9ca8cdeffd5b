#include "exec/exec_files.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "os/file_identity.hpp"

namespace headway::app {

void check_files(exec_options const& o) {
  struct named {
    std::string option;
    file_identity identity;
    bool written;
  };
  std::vector<named> all;
  auto const add = [&](std::string const& option, std::string const& path, bool written) {
    if (path.empty() || path == "-") return;
    named one{option, file_identity::of(path), written};
    if (one.identity.shareable) return;
    for (auto const& other : all)
      if ((written || other.written) && other.identity == one.identity)
        throw fatal(exit_usage,
                    fmt::format("{} {} would overwrite {}", option, in_quotes(path),
                                other.written ? "what " + other.option + " writes" : other.option));
    all.push_back(std::move(one));
  };
  add("JOBS", o.input.path, false);
  add("--out", o.out, true);
  for (auto const* const suffix : {"", "-wal", "-shm", "-mark", "-journal"})
    if (!o.journal.empty()) add("--journal", o.journal + suffix, true);
  add("--joblog", o.job_log, true);
  add("--failed", o.failed, true);
  add("--trace", o.trace, true);
  if (o.metrics.ends_with(".prom")) add("--metrics", o.metrics, true);
  if (!o.cold) add("--state", o.state, true);
}

}  // namespace headway::app
