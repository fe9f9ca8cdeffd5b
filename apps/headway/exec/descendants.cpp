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
#include <filesystem>
#include <string>
#include <system_error>
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

/// What stat of a process or a thread says: its state, and of a process how many threads it has.
struct state {
  char is = ' ';
  int threads = 1;

  explicit state(std::string const& path) {
    auto const text = proc(path + "/stat");
    auto at = text.rfind(')');  // the name may have any bytes
    if (at == text.npos || at + 2 >= text.size()) return;
    is = text[at + 2];
    for (int field = 2; field < 20 && at != text.npos; ++field) at = text.find(' ', at + 1);
    if (at != text.npos) std::from_chars(text.data() + at + 1, text.data() + text.size(), threads);
  }
};

/// The threads of a process, as folders of /proc.
std::vector<std::string> threads_of(pid_t id, int count) {
  auto const folder = fmt::format("/proc/{}/task/", id);
  std::vector<std::string> all;
  if (count == 1) {
    all.push_back(folder + std::to_string(id));
    return all;
  }
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    all.push_back(at->path().string());
  return all;
}

}  // namespace

void become_subreaper() noexcept {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

bool finds_descendants() noexcept {
  return ::access(our_children().c_str(), R_OK) == 0;
}

void end_descendants(std::span<pid_t const> spared) noexcept {
  for (bool any = true; any;) {
    any = false;
    for (auto const id : ids_in(our_children())) {
      if (std::ranges::find(spared, id) != spared.end()) continue;
      if (::waitpid(id, nullptr, WNOHANG) != id) {
        if (::kill(id, SIGKILL) != 0) continue;
        ::waitpid(id, nullptr, 0);  // its own children are ours then
      }
      any = true;
    }
  }
}

int hungry_descendants(std::span<pid_t const> of, int enough) {
  int found = 0;
  std::vector<pid_t> open;
  for (auto const root : of) {
    if (found >= enough) break;
    open = ids_in(fmt::format("/proc/{0}/task/{0}/children", root));
    if (open.empty()) ++found;
    while (!open.empty() && found < enough) {
      auto const id = open.back();
      open.pop_back();
      auto const process = state(fmt::format("/proc/{}", id));
      for (auto const& thread : threads_of(id, process.threads)) {
        if ((process.threads == 1 ? process : state(thread)).is == 'R') ++found;
        for (auto const child : ids_in(thread + "/children")) open.push_back(child);
      }
    }
  }
  return std::min(found, enough);
}

}  // namespace headway::app
