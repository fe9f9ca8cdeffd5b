#include "os/poller.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/clock.hpp"

namespace headway::app {
namespace {

int checked(int result, char const* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

}  // namespace

poller::poller()
    : epoll_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      timer_(
          checked(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd_create")) {
  watch(timer_, EPOLLIN);
}

poller::~poller() {
  close(timer_);
  close(epoll_);
}

void poller::watch(int fd, std::uint32_t events) {
  auto const index = static_cast<std::size_t>(fd);
  if (index >= watched_.size()) watched_.resize(index + 1);
  auto& current = watched_[index];
  if (current == events) return;
  epoll_event e{.events = events, .data = {.fd = fd}};
  auto const operation = current == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
  checked(epoll_ctl(epoll_, operation, fd, &e), "epoll_ctl");
  current = events;
}

void poller::watch_if_open(int fd, std::uint32_t events) noexcept {
  if (watched(fd) == 0) return;
  epoll_event e{.events = events, .data = {.fd = fd}};
  auto const open = epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &e) == 0;
  watched_[static_cast<std::size_t>(fd)] = open ? events : 0;
}

void poller::unwatch(int fd) noexcept {
  if (watched(fd) != 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  forget(fd);
}

void poller::forget(int fd) noexcept {
  if (static_cast<std::size_t>(fd) < watched_.size()) watched_[static_cast<std::size_t>(fd)] = 0;
}

std::uint32_t poller::watched(int fd) const noexcept {
  auto const index = static_cast<std::size_t>(fd);
  return index < watched_.size() ? watched_[index] : 0;
}

std::span<poller::event const> poller::wait(time_point until) {
  auto const now = clock_now();
  int timeout = -1;
  if (until <= now) {
    timeout = 0;
  } else if (until != armed_) {
    armed_ = until;
    auto const at = until == never ? duration(0) : until.time_since_epoch();  // zero disarms
    auto const seconds = std::chrono::floor<std::chrono::seconds>(at);
    itimerspec const spec{
        .it_interval = {},
        .it_value = {.tv_sec = seconds.count(), .tv_nsec = (at - seconds).count()}};
    checked(timerfd_settime(timer_, TFD_TIMER_ABSTIME, &spec, nullptr), "timerfd_settime");
  }
  std::array<epoll_event, 256> raw;
  auto n = epoll_wait(epoll_, raw.data(), static_cast<int>(raw.size()), timeout);
  if (n < 0 && errno == EINTR) n = 0;
  checked(n, "epoll_wait");
  std::size_t count = 0;
  for (int i = 0; i < n; ++i) {
    auto const& e = raw[static_cast<std::size_t>(i)];
    if (e.data.fd != timer_) {
      ready_[count++] = {e.data.fd, e.events};
      continue;
    }
    std::uint64_t expirations = 0;
    if (read(timer_, &expirations, sizeof expirations) > 0) armed_ = never;
  }
  return {ready_.data(), count};
}

}  // namespace headway::app
