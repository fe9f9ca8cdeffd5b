#include "client/header_commands.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "client/headers.hpp"

namespace headway::app {
namespace {

constexpr std::size_t value_bytes_max = 16 * 1024;
constexpr duration round_max = 1min;
constexpr duration pause_min = 1s, pause_max = 1min;

// A control character, which no header of JOBS or --header may have.
constexpr char mark = '\x01';

constexpr std::string_view command_in = "HEADWAY_HEADER_COMMAND=";
constexpr char run_variable[] = "eval \"unset HEADWAY_HEADER_COMMAND\n$HEADWAY_HEADER_COMMAND\"";

duration pause_after(int failures) noexcept {
  return failures > 6 ? pause_max
                      : std::min(pause_max, pause_min * (1 << std::max(failures - 1, 0)));
}

}  // namespace

header_commands::header_commands(poller& events, std::span<std::string const> options,
                                 std::optional<duration> ttl)
    : events_(events), ttl_(ttl) {
  for (std::string_view const option : options) {
    auto const colon = option.find(':');
    auto const open = option.find("$(");
    auto const close = option.rfind(')');
    if (colon == option.npos || open == option.npos || close == option.npos || colon > open ||
        close < open || trimmed(option.substr(open + 2, close - open - 2)).empty())
      throw fatal(exit_usage, "--header-cmd: want 'Name: $(COMMAND)', in single quotes");
    one o{.name = std::string(option.substr(0, colon)),
          .before = std::string(option.substr(colon + 1, open - colon - 1)),
          .command = std::string(option.substr(open + 2, close - open - 2)),
          .after = std::string(option.substr(close + 1))};
    if (auto const wrong = header_problem(o.name, o.before + o.after); !wrong.empty())
      throw fatal(exit_usage, fmt::format("--header-cmd: header {} {}", in_quotes(o.name), wrong));
    all_.push_back(std::move(o));
  }
  if (all_.empty()) due_ = never;
}

header_commands::~header_commands() {
  for (auto& o : all_) kill(o);
}

std::vector<std::string> header_commands::stand_ins() const {
  std::vector<std::string> lines;
  for (auto const& o : all_) lines.push_back(fmt::format("{}:{}{}", o.name, mark, lines.size()));
  return lines;
}

bool header_commands::needed_by(std::span<std::string const> lines) noexcept {
  return std::ranges::any_of(lines, [](auto const& line) { return line.find(mark) != line.npos; });
}

std::vector<std::string> header_commands::filled(std::span<std::string const> lines) const {
  std::vector<std::string> all(lines.begin(), lines.end());
  for (auto& line : all)
    if (auto const at = line.find(mark); at != line.npos) {
      auto const& o = all_[std::stoul(line.substr(at + 1))];
      line = fmt::format("{}: {}", o.name, trimmed(o.before + o.value + o.after));
    }
  return all;
}

void header_commands::refuse(std::uint64_t generation) noexcept {
  if (refused_ || generation != generation_) return;
  refused_ = true;
  if (failures_ == 0) due_ = std::min(due_, later(began_, pause_min));
}

bool header_commands::ready(poller::event const& e) {
  for (auto& o : all_) {
    if (e.fd == o.out_fd) {
      listen(o);
    } else if (e.fd == o.child_fd) {
      reap(o);
    } else {
      continue;
    }
    if (running_ == 0) conclude(clock_now());
    return true;
  }
  return false;
}

bool header_commands::flush(time_point now) {
  if (running_ > 0 && now >= until_) {
    for (auto& o : all_)
      if (o.child != 0) fail(o, fmt::format("did not end within {}", in_words(round_max)));
    conclude(now);
  } else if (running_ == 0 && now >= due_) {
    began_ = now;
    until_ = later(now, round_max);
    failed_ = false;
    for (auto& o : all_) start(o);
    if (running_ == 0) conclude(now);
  }
  return std::exchange(told_, generation_) != generation_;
}

void header_commands::start(one& o) {
  o.said.clear();
  o.ended_well = false;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    fail(o, std::strerror(errno));
    return;
  }
  // A group of its own: Ctrl-C is for us, and all that it starts can be ended.
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
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  // All users see a process's arguments, none but its owner its environment.
  std::string shell = "sh", option = "-c", script = run_variable;
  auto variable = std::string(command_in) + o.command;
  std::array<char*, 4> arguments{shell.data(), option.data(), script.data(), nullptr};
  std::vector<char*> environment;
  for (char** pair = environ; *pair != nullptr; ++pair)
    if (!std::string_view(*pair).starts_with(command_in)) environment.push_back(*pair);
  environment.insert(environment.end(), {variable.data(), nullptr});
  auto const error =
      posix_spawn(&o.child, "/bin/sh", &files, &how, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&how);
  ::close(ends[1]);
  if (error != 0) {
    o.child = 0;
    ::close(ends[0]);
    fail(o, std::strerror(error));
    return;
  }
  ++running_;
  o.out_fd = ends[0];
  ::fcntl(o.out_fd, F_SETFL, O_NONBLOCK);
  o.child_fd = static_cast<int>(::syscall(SYS_pidfd_open, o.child, 0));
  if (o.child_fd < 0) {
    fail(o, std::strerror(errno));
    return;
  }
  for (auto const fd : {o.out_fd, o.child_fd}) {
    events_.forget(fd);  // libcurl may have closed one of that number without a word
    events_.watch(fd, EPOLLIN);
  }
}

void header_commands::listen(one& o) {
  std::array<char, 4096> block;
  for (;;) {
    auto const n = ::read(o.out_fd, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;
    if (n == 0) {
      events_.watch(o.out_fd, 0);
      return;
    }
    o.said.append(block.data(), static_cast<std::size_t>(n));
    if (o.said.size() <= value_bytes_max) continue;
    fail(o, fmt::format("printed more than {} KiB", value_bytes_max / 1024));
    return;
  }
}

void header_commands::reap(one& o) {
  listen(o);  // something that it left running may hold the pipe open
  if (o.child == 0) return;
  int status = 0;
  if (::waitpid(o.child, &status, WNOHANG) != o.child) return;
  o.child = 0;
  auto const said = trimmed(o.said, " \t\r\n");
  std::string why;
  if (WIFSIGNALED(status))
    why = fmt::format("was ended by signal {}", WTERMSIG(status));
  else if (WEXITSTATUS(status) != 0)
    why = fmt::format("failed with exit code {}", WEXITSTATUS(status));
  else if (said.empty())
    why = "printed nothing";
  else if (said.find('\n') != said.npos)
    why = "printed more than one line";
  else if (!header_problem(o.name, said).empty())
    why = "printed a control character";
  if (why.empty()) {
    o.said = said;
    o.ended_well = true;
    --running_;
    kill(o);
  } else {
    --running_;
    fail(o, why);
  }
}

void header_commands::kill(one& o) noexcept {
  if (o.child != 0) {
    ::kill(-o.child, SIGKILL);
    ::waitpid(o.child, nullptr, 0);
    o.child = 0;
    --running_;
  }
  for (auto* const fd : {&o.out_fd, &o.child_fd})
    if (*fd >= 0) {
      events_.forget(*fd);
      ::close(*fd);
      *fd = -1;
    }
}

void header_commands::fail(one const& o, std::string_view why) {
  failed_ = true;
  problem_ = fmt::format("--header-cmd: the command for {} {}", o.name, why);
  for (auto& any : all_) kill(any);
}

void header_commands::conclude(time_point now) {
  if (failed_) {
    due_ = later(now, pause_after(++failures_));
    return;
  }
  for (auto& o : all_) o.value = std::move(o.said);
  ++generation_;
  failures_ = 0;
  refused_ = false;
  due_ = ttl_ ? later(now, *ttl_) : never;
}

}  // namespace headway::app
