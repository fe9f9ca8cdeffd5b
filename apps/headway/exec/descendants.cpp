#include "exec/descendants.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <string>
#include <vector>

namespace headway::app {
namespace {

/// A file of /proc, "" where there is none.
std::string proc(std::string const& path) noexcept {
  std::string text;
  int const fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  std::array<char, 4096> block;
  for (ssize_t n = 0; (n = ::read(fd, block.data(), block.size())) > 0;)
    text.append(block.data(), static_cast<std::size_t>(n));
  ::close(fd);
  return text;
}

std::string our_children() {
  return fmt::format("/proc/self/task/{}/children", ::syscall(SYS_gettid));
}
/// Of a process with one thread, or of its first one.
std::string children_of(pid_t id) {
  return fmt::format("/proc/{}/task/{}/children", id, id);
}

std::vector<pid_t> ids_in(std::string const& path) noexcept {
  std::vector<pid_t> all;
  auto const text = proc(path);
  auto const* at = text.data();
  auto const* const last = at + text.size();
  while (at < last) {
    pid_t id = 0;
    auto const [end, wrong] = std::from_chars(at, last, id);
    if (wrong == std::errc{}) all.push_back(id);
    at = end + 1;
  }
  return all;
}

bool is_hungry(pid_t id) {
  auto const text = proc(fmt::format("/proc/{}/stat", id));
  auto const name_ends = text.rfind(')');  // it may have any bytes
  return name_ends != text.npos && name_ends + 2 < text.size() && text[name_ends + 2] == 'R';
}

}  // namespace

void become_subreaper() noexcept {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

bool finds_descendants() noexcept {
  return ::access(our_children().c_str(), R_OK) == 0;
}

cleared end_descendants(std::span<pid_t const> spared) noexcept {
  cleared result;
  for (;;) {
    int killed = 0, reaped = 0;
    result.left = 0;
    for (auto const id : ids_in(our_children())) {
      if (std::ranges::find(spared, id) != spared.end()) continue;
      if (::waitpid(id, nullptr, WNOHANG) == id) {
        ++reaped;
        continue;
      }
      if (::kill(id, SIGKILL) != 0) {
        ++result.left;
        continue;
      }
      ::waitpid(id, nullptr, 0);  // its own children are ours then
      ++killed;
    }
    result.ended += killed;
    if (killed + reaped == 0) return result;
  }
}

int hungry_descendants(std::span<pid_t const> of, int enough) {
  int found = 0;
  std::vector<pid_t> open;
  for (auto const root : of) {
    if (found >= enough) break;
    open = ids_in(children_of(root));
    if (open.empty()) ++found;
    while (!open.empty() && found < enough) {
      auto const id = open.back();
      open.pop_back();
      if (is_hungry(id)) ++found;
      for (auto const child : ids_in(children_of(id))) open.push_back(child);
    }
  }
  return found;
}

}  // namespace headway::app
