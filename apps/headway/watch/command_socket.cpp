#include "watch/command_socket.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "base/json_text.hpp"
#include "headway/driver/machine_pace.hpp"

namespace headway::app {
namespace {

constexpr duration answer_wait_max = 5s;
constexpr std::size_t answer_max = std::size_t{16} << 20;
constexpr std::string_view suffix = ".sock";

/// This user's own folder of mode 0700; made where it is missing.
file open_folder(bool make) {
  auto const path = machine_pace::default_folder();
  if (make && mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    throw std::system_error(errno, std::generic_category(), path);
  file folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), path);
  if (folder.fd() < 0 && errno != ELOOP && errno != ENOTDIR)
    throw std::system_error(errno, std::generic_category(), path);
  struct stat about {};
  if (folder.fd() < 0 || fstat(folder.fd(), &about) != 0 || about.st_uid != geteuid() ||
      (about.st_mode & 077) != 0)
    throw std::runtime_error(path + " is not this user's own folder of mode 0700");
  return folder;
}

/// By way of the open folder, so that no path is too long, and it is that folder.
sockaddr_un address_of(file const& folder, std::string_view name) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  auto const path = fmt::format("/proc/self/fd/{}/{}", folder.fd(), name);
  path.copy(at.sun_path, sizeof at.sun_path - 1);
  return at;
}

bool of_this_user(int fd) noexcept {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

/// From now on a call to it waits no longer than until then.
bool wait_until(file const& peer, time_point deadline) {
  auto const left = std::chrono::ceil<std::chrono::microseconds>(deadline - clock_now()).count();
  if (left <= 0) return false;
  timeval const patience{.tv_sec = left / 1'000'000, .tv_usec = left % 1'000'000};
  return setsockopt(peer.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
         setsockopt(peer.fd(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0;
}

file connect_to(file const& folder, std::string const& name, time_point deadline) {
  file peer(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), name);
  wait_until(peer, deadline);
  auto const at = address_of(folder, name);
  if (connect(peer.fd(), reinterpret_cast<sockaddr const*>(&at), sizeof at) != 0)
    throw std::system_error(errno, std::generic_category(), name);
  return peer;
}

std::optional<live_run> run_of(std::string_view name) {
  auto const dash = name.rfind('-');
  if (!name.ends_with(suffix) || dash == name.npos) return std::nullopt;
  live_run r{.surface = std::string(name.substr(0, dash))};
  auto const* const end = name.data() + name.size() - suffix.size();
  auto const [read, wrong] = std::from_chars(name.data() + dash + 1, end, r.pid);
  if (wrong != std::errc{} || read != end) return std::nullopt;
  return r;
}

std::string name_of(live_run const& r) {
  return fmt::format("{}-{}{}", r.surface, r.pid, suffix);
}

/// A line, once it is whole.
std::optional<listener::reply> answer_line(std::string_view said,
                                           command_socket::answerer const& answers) {
  auto const end = said.find('\n');
  if (end == said.npos) {
    if (said.size() < listener::question_max) return std::nullopt;
    return listener::reply{.bytes = said.size(),
                           .text = fmt::format("{{\"error\":\"a line has at most {} bytes\"}}\n",
                                               listener::question_max - 1),
                           .last = true};
  }
  return listener::reply{.bytes = end + 1, .text = answers(said.substr(0, end)) + "\n"};
}

}  // namespace

command_socket::command_socket(poller& events, std::string_view surface, answerer answers)
    : folder_(open_folder(true)), name_(name_of({std::string(surface), getpid()})) {
  file socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), name_);
  // It takes its name once it listens: one that refuses was left by a process that is dead.
  auto const fresh = name_ + ".new";
  auto const at = address_of(folder_, fresh);
  unlinkat(folder_.fd(), fresh.c_str(), 0);
  if (socket.fd() < 0 ||
      bind(socket.fd(), reinterpret_cast<sockaddr const*>(&at), sizeof at) != 0 ||
      fchmodat(folder_.fd(), fresh.c_str(), 0600, 0) != 0 || listen(socket.fd(), 64) != 0 ||
      renameat(folder_.fd(), fresh.c_str(), folder_.fd(), name_.c_str()) != 0) {
    auto const error = errno;
    unlinkat(folder_.fd(), fresh.c_str(), 0);
    throw std::system_error(error, std::generic_category(), name_);
  }
  service_.emplace(
      events, std::move(socket),
      [answers = std::move(answers)](std::string_view said) { return answer_line(said, answers); },
      of_this_user);
}

command_socket::~command_socket() {
  unlinkat(folder_.fd(), name_.c_str(), 0);
}

std::vector<live_run> live_runs() {
  std::vector<live_run> all;
  std::optional<file> folder;
  try {
    folder.emplace(open_folder(false));
  } catch (std::exception const&) {  // then none has ever run here
    return all;
  }
  auto* const entries = fdopendir(dup(folder->fd()));
  if (entries == nullptr) return all;
  rewinddir(entries);
  while (auto const* const entry = readdir(entries)) {  // NOLINT(concurrency-mt-unsafe): our own
    std::string const name = entry->d_name;
    auto const r = run_of(name);
    if (!r) continue;
    try {
      auto const peer = connect_to(*folder, name, clock_now() + answer_wait_max);
      all.push_back(*r);
    } catch (std::system_error const& e) {
      if (e.code() == std::errc::connection_refused) unlinkat(folder->fd(), name.c_str(), 0);
    }
  }
  closedir(entries);
  std::ranges::sort(all, {}, &live_run::pid);
  return all;
}

std::optional<std::string> ask(live_run const& run, std::string_view line) try {
  auto const folder = open_folder(false);
  auto const deadline = clock_now() + answer_wait_max;
  auto const peer = connect_to(folder, name_of(run), deadline);
  auto const whole = std::string(line) + "\n";
  if (send(peer.fd(), whole.data(), whole.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(whole.size()))
    return std::nullopt;
  std::string answer;
  std::array<char, 65536> bytes;
  while (!answer.ends_with('\n') && answer.size() < answer_max) {
    if (!wait_until(peer, deadline)) return std::nullopt;
    auto const n = recv(peer.fd(), bytes.data(), bytes.size(), 0);
    if (n <= 0) return std::nullopt;
    answer.append(bytes.data(), static_cast<std::size_t>(n));
  }
  answer.pop_back();
  return answer;
} catch (std::exception const&) {
  return std::nullopt;
}

}  // namespace headway::app
