#include "exec/exec_files.hpp"

#include <string>

#include "exec/job_outputs.hpp"
#include "exec/recipe.hpp"
#include "os/file_identity.hpp"
#include "os/named_files.hpp"
#include "pacing/memory.hpp"

namespace headway::app {

void check_files(exec_options const& o) {
  named_files all;
  for (auto const& [option, folder] :
       {std::pair{"--out-dir", o.out_dir}, {"--out", large_outputs_of(o)}})
    all.add_folder(option, folder, [](std::string_view name) {
      return is_numbered(name, {".out", ".err"});
    });
  all.add_folder("--keep-attempts", o.attempts_dir, attempt_files::names);
  all.add("JOBS", o.input.path, false);
  for (auto const& path : o.files) all.add("the file of --arg-file", path, false);
  for (auto const& pair : o.environment)
    all.add("the file of --env", std::string(value_file(pair)), false);
  if (o.speaks && o.speaks->name().find_first_of("./") != std::string::npos)
    all.add("the file of --throttled", o.speaks->name(), false);

  all.add_written("--out-dir", o.out_dir);
  all.add_written("--keep-attempts", o.attempts_dir);
  all.add_written("--out", o.out);
  all.add_written("--out", large_outputs_of(o));
  all.add_written("--journal", o.journal, {"-wal", "-shm", "-mark", "-journal"});
  all.add_written("--joblog", o.job_log);
  all.add_written("--failed", o.failed, {".new"});
  all.add_written("--trace", o.trace);
  if (o.metrics.ends_with(".prom")) all.add_written("--metrics", o.metrics, {".new"});
  if (!o.cold)
    all.add_written("--state", followed(o.state.empty() ? memory::default_path() : o.state),
                    {".new", ".lock"});
  all.check_standard_streams();
}

}  // namespace headway::app
