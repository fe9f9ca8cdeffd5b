#include "run/shared_work.hpp"

#include <utility>

#include "base/fatal.hpp"
#ifdef HEADWAY_FLEET
#include "run/fleet_run.hpp"
#endif

namespace headway::app {

std::unique_ptr<shared_work> share_work(run_options& options,
                                        [[maybe_unused]] std::vector<std::string> headers,
                                        [[maybe_unused]] std::function<bool()> interrupted) {
  if (!options.queue || options.dry_run) return nullptr;
#ifdef HEADWAY_FLEET
  return std::make_unique<fleet_run>(options, std::move(headers), std::move(interrupted));
#else
  throw fatal(exit_usage, "--fleet: this headway was built without libpq (Debian: libpq-dev)");
#endif
}

}  // namespace headway::app
