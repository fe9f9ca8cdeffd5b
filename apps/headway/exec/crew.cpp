#include "exec/crew.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

namespace headway::app {
namespace {

constexpr duration grace = 5s;  // between SIGTERM and SIGKILL

}  // namespace

crew::crew(poller& events, task_table& tasks, int most, ears e)
    : events_(events), tasks_(tasks), ears_(std::move(e)), guards_(most) {}

std::optional<std::size_t> crew::place(std::int64_t running) {
  auto const found = guards_.idle(static_cast<int>(running));
  if (found) watch_fd(guards_[*found].fd(), {watch::guard, static_cast<std::uint32_t>(*found)});
  return found;
}

bool crew::start(std::size_t place, std::uint32_t index, command_start c,
                 std::optional<std::string> const& input) {
  auto& t = tasks_[index];
  if (!t.pipes.open(input)) return false;
  t.pipes.give(c);
  stillborn_ = !guards_[place].start(c);
  t.pipes.close_theirs();
  t.guard = static_cast<int>(place);
  guards_.runs(place, static_cast<int>(index));
  return true;
}

void crew::listen(std::uint32_t index) {
  auto const& t = tasks_[index];
  for (int const fd : {t.pipes.output(), t.pipes.error()}) watch_fd(fd, {watch::task, index});
  if (stillborn_) hear(static_cast<std::size_t>(t.guard));
}

bool crew::ready(poller::event const& e) {
  auto const at = static_cast<std::size_t>(e.fd);
  if (at >= watched_.size() || watched_[at].what == watch::none) return false;
  auto const w = watched_[at];
  if (w.what == watch::guard)
    hear(w.index);
  else
    read_some(tasks_[w.index], e.fd, block_.size());
  return true;
}

bool crew::drain(task& t) {
  bool lives_on = false;
  for (int const fd : {t.pipes.output(), t.pipes.error()}) {
    lives_on |= !read_rest(t, fd);
    forget_fd(fd);
  }
  return lives_on;
}

void crew::terminate(time_point now, task& t, std::string why) {
  if (!t.ended_by.empty()) return;
  t.ended_by = std::move(why);
  guards_[static_cast<std::size_t>(t.guard)].signal(SIGTERM);
  t.kill_at = later(now, grace);
}

void crew::terminate_all(time_point now, std::string const& why) {
  for (int const i : guards_.running()) {
    auto& t = task_at(i);
    if (t.ended_by.empty()) t.cut_short = true;
    terminate(now, t, why);
  }
}

void crew::end_late(time_point now, std::string const& timeout) {
  for (int const i : guards_.running()) {
    auto& t = task_at(i);
    if (!t.kill_at || *t.kill_at > now) continue;
    if (t.ended_by.empty()) {
      terminate(now, t, timeout);
    } else {
      guards_[static_cast<std::size_t>(t.guard)].signal(SIGKILL);
      t.kill_at.reset();
    }
  }
}

time_point crew::wakeup() const {
  auto at = never;
  for (int const i : guards_.running()) at = std::min(at, task_at(i).kill_at.value_or(never));
  return at;
}

void crew::watch_fd(int fd, watch w) {
  auto const at = static_cast<std::size_t>(fd);
  if (at >= watched_.size()) watched_.resize(at + 1);
  watched_[at] = w;
  events_.watch(fd, EPOLLIN);
}

void crew::forget_fd(int fd) {
  events_.forget(fd);
  watched_[static_cast<std::size_t>(fd)] = {};
}

/// Reads what is there, once; at most `most`. Returns how many bytes; 0: there is no more now.
std::size_t crew::read_some(task& t, int fd, std::size_t most) {
  auto& to = fd == t.pipes.output() ? t.output : t.error;
  ssize_t n = 0;
  do n = ::read(fd, block_.data(), std::min(most, block_.size()));
  while (n < 0 && errno == EINTR);
  if (n == 0) events_.watch(fd, 0);
  if (n <= 0) return 0;
  auto const size = static_cast<std::size_t>(n);
  ears_.printed(to, {block_.data(), size});
  return size;
}

/// The command has ended: reads what its pipe holds. Returns false where a process has it open.
bool crew::read_rest(task& t, int fd) {
  for (auto left = bytes_in(fd); left > 0;) {
    auto const n = read_some(t, fd, left);
    if (n == 0) break;
    left -= n;
  }
  pollfd end{fd, POLLIN, 0};
  return ::poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
}

/// A guard has something to say.
void crew::hear(std::size_t place) {
  if (!guards_.has(place)) return;
  auto& guard = guards_[place];
  auto const how = guard.end();
  if (!how && !guard.gone()) return;
  auto const running = guards_.runs(place, -1);
  if (!how) {  // killed
    forget_fd(guard.fd());
    guards_.lose(place);
  }
  if (running >= 0) ears_.ended(static_cast<std::uint32_t>(running), how);
}

}  // namespace headway::app
