#include "exec/room.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cstddef>
#include <thread>

#include "base/fatal.hpp"

namespace headway::app {
namespace {

constexpr int ceiling_max = 64;  // of the default concurrency

}  // namespace

int processors() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

/// Two processes and some descriptors a command.
room room::here(int wanted, bool local) {
  rlimit processes{}, files{};
  getrlimit(RLIMIT_NPROC, &processes);
  getrlimit(RLIMIT_NOFILE, &files);
  auto const limit = [](rlim_t n) { return static_cast<int>(std::clamp<rlim_t>(n, 1, 1'000'000)); };
  auto const by_files = std::max(1, (limit(files.rlim_cur) - 64) / 5);
  if (wanted > by_files)
    throw fatal(exit_usage, fmt::format("--concurrency {}: the limit of {} open files (ulimit -n) "
                                        "leaves room for {}; want from 1 to {}",
                                        wanted, limit(files.rlim_cur), by_files, by_files));
  if (wanted > 0) return {wanted, "--concurrency"};
  if (local) return {std::min(processors(), by_files), "processors"};
  struct sysinfo memory {};
  sysinfo(&memory);
  auto const megabytes =
      (memory.freeram + memory.bufferram) * memory.mem_unit / (std::size_t{64} << 20);
  room found{ceiling_max, "default"};
  auto const at_most = [&](int most, char const* why) {
    if (most < found.most) found = {std::max(1, most), why};
  };
  at_most(limit(processes.rlim_cur) / 4, "ulimit -u");
  at_most(static_cast<int>(std::max<std::size_t>(megabytes, 4)), "free memory");
  at_most(by_files, "ulimit -n");
  return found;
}

}  // namespace headway::app
