#include "run/run_files.hpp"

#include <filesystem>
#include <string>
#include <system_error>

#include "pacing/memory.hpp"

namespace headway::app {

namespace fs = std::filesystem;

named_files files_of(run_options const& o) {
  named_files all;
  all.add_folder("--out-dir", o.out_dir, [any = !o.out_name.empty()](std::string_view name) {
    return any || is_numbered(name, {".json", ".txt", ".bin"});
  });
  all.add("JOBS", o.jobs, false);
  for (auto const& header : o.headers)
    if (header.starts_with('@')) all.add("the file of --header", header.substr(1), false);
  if (o.body && o.body->starts_with('@')) all.add("the file of --body", o.body->substr(1), false);
  if (o.speaks && o.speaks->name().find_first_of("./") != std::string::npos)
    all.add("the file of --profile", o.speaks->name(), false);
  all.add("the file of --cacert", o.http.ca_file, false);

  all.add_written("--out-dir", o.out_dir);
  all.add_written("--out", o.out);
  std::error_code none;              // else it cannot be opened either
  if (o.keep_order && o.out != "-")  // where put_in_order() writes
    all.add_written("--keep-order", fs::weakly_canonical(o.out, none).string() + ".new");
  all.add_written("--out", o.table, {".new"});
  if (o.out == "-" && !o.journal.empty()) all.add_written("--out", o.journal + ".results.jsonl");
  all.add_written("--journal", o.journal, {"-wal", "-shm", "-mark", "-journal"});
  if (!o.cold)
    all.add_written("--state", followed(o.state.empty() ? memory::default_path() : o.state),
                    {".new", ".lock"});
  all.add_written("--trace", o.trace);
  if (o.metrics.ends_with(".prom")) all.add_written("--metrics", o.metrics, {".new"});
  all.add_written("--failed", o.failed, {".new"});
  all.check_standard_streams();
  return all;
}

}  // namespace headway::app
