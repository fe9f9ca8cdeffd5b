/// Waits for descriptors and for an instant.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "headway/time.hpp"

namespace headway::app {

/// epoll(7) with a timerfd(2): epoll_wait's own timeout has milliseconds, which would make a pace
/// of 1,000/s late by half a millisecond on average.
class poller {
 public:
  poller();
  ~poller();
  poller(poller const&) = delete;
  poller& operator=(poller const&) = delete;

  /// Watches `fd` for `events` (EPOLLIN, EPOLLOUT); zero stops watching. Repeating costs nothing.
  void watch(int fd, std::uint32_t events);
  /// As watch(), of what was watched and may have been closed meanwhile: that is forgotten.
  void watch_if_open(int fd, std::uint32_t events) noexcept;
  /// Stops watching what may have been closed meanwhile.
  void unwatch(int fd) noexcept;
  /// `fd` has been or will be closed: the kernel forgets it, so must we.
  void forget(int fd) noexcept;
  std::uint32_t watched(int fd) const noexcept;

  struct event {
    int fd;
    std::uint32_t events;
  };
  /// Blocks until a watched descriptor is ready or `until` has come (`never`: no timeout).
  /// The result is valid until the next call.
  std::span<event const> wait(time_point until);

  /// Readable when a watched descriptor is ready: for the loop of another.
  int fd() const noexcept { return epoll_; }

 private:
  int epoll_;
  int timer_;
  time_point armed_ = never;
  std::array<event, 256> ready_{};
  std::vector<std::uint32_t> watched_;  // by descriptor
};

}  // namespace headway::app
