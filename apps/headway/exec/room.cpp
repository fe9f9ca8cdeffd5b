#include "exec/room.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include "base/fatal.hpp"

namespace headway::app {
namespace {

constexpr int ceiling_max = 64;  // of the default concurrency

/// Bytes that programs can have before the system swaps: proc(5). What is cached can be had.
std::size_t available_memory() {
  std::ifstream in("/proc/meminfo");
  std::string name;
  for (std::size_t kib = 0; in >> name >> kib; in.ignore(std::numeric_limits<int>::max(), '\n'))
    if (name == "MemAvailable:") return kib * 1024;
  return 0;
}

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
  auto const by_memory = available_memory() / (std::size_t{64} << 20);
  room found{ceiling_max, "default"};
  auto const at_most = [&](int n, char const* reason) {
    if (n < found.most) found = {std::max(1, n), reason};
  };
  at_most(limit(processes.rlim_cur) / 4, "ulimit -u");
  at_most(static_cast<int>(std::clamp<std::size_t>(by_memory, 4, ceiling_max)), "free memory");
  at_most(by_files, "ulimit -n");
  return found;
}

}  // namespace headway::app
