#include "os/process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace headway::app {
namespace {

std::system_error refused_by_system(int error) {
  return {error, std::generic_category()};
}

std::vector<char*> pointers(std::vector<std::string>& all) {
  std::vector<char*> each;
  for (auto& text : all) each.push_back(text.data());
  each.push_back(nullptr);
  return each;
}

pid_t spawn(char const* program, char* const* arguments, char* const* environment, int output) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  posix_spawnattr_setflags(&how,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setsigdefault(&how, &all);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  pid_t id = 0;
  auto const error = posix_spawn(&id, program, &files, &how, arguments, environment);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&how);
  if (error != 0) throw refused_by_system(error);
  return id;
}

}  // namespace

process::process(poller& events, char const* program, std::vector<std::string> arguments,
                 std::vector<std::string> environment)
    : events_(events) {
  auto const argv = pointers(arguments), envp = pointers(environment);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw refused_by_system(errno);
  output_ = ends[0];
  try {
    id_ = spawn(program, argv.data(), envp.data(), ends[1]);
    ::close(ends[1]);
    ends[1] = -1;
    ::fcntl(output_, F_SETFL, O_NONBLOCK);
    end_ = static_cast<int>(::syscall(SYS_pidfd_open, id_, 0));
    if (end_ < 0) throw refused_by_system(errno);
    for (auto const fd : {output_, end_}) {
      events_.forget(fd);  // libcurl may have closed one of that number without a word
      events_.watch(fd, EPOLLIN);
    }
  } catch (...) {
    if (ends[1] >= 0) ::close(ends[1]);
    close();
    throw;
  }
}

process::~process() {
  close();
}

void process::close() noexcept {
  if (auto const id = std::exchange(id_, 0); id != 0) {
    ::kill(-id, SIGKILL);
    ::waitpid(id, nullptr, 0);
  }
  for (auto* const fd : {&output_, &end_})
    if (*fd >= 0) {
      events_.forget(*fd);
      ::close(std::exchange(*fd, -1));
    }
}

bool process::read(std::string& printed, std::size_t bytes_max) {
  std::array<char, 4096> block;
  while (printed.size() <= bytes_max) {
    auto const n = ::read(output_, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) events_.watch(output_, 0);
    if (n <= 0) return true;
    printed.append(block.data(), static_cast<std::size_t>(n));
  }
  return false;
}

std::optional<int> process::status() {
  int how = 0;
  if (id_ == 0 || ::waitpid(id_, &how, WNOHANG) != id_) return std::nullopt;
  id_ = 0;
  return how;
}

}  // namespace headway::app
