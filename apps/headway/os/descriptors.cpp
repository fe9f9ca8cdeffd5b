#include "os/descriptors.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/fatal.hpp"

namespace headway::app {
namespace {

constexpr int descriptors_of_ours = 48;  // files, timers, names that are looked up

}  // namespace

int room_for_connections(int wanted) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  auto const all = static_cast<int>(std::clamp<rlim_t>(limit.rlim_cur, 64, 65536));
  auto const room = all - descriptors_of_ours;
  if (wanted > room)
    throw fatal(exit_usage,
                fmt::format("--concurrency {}: the limit of {} open files (ulimit -Hn) leaves room "
                            "for {}; want from 1 to {}",
                            wanted, all, room, room));
  return room;
}

}  // namespace headway::app
