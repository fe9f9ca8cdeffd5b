#include "watch/listener.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/fatal.hpp"
#include "base/text.hpp"

namespace headway::app {
namespace {

constexpr int accepted_at_once = 8, effort_max = 100;
constexpr std::uint32_t in = EPOLLIN, out = EPOLLOUT, none = 0;
constexpr std::size_t effort_bytes = 4096;  // of answers, that one exchange may have

}  // namespace

listener::listener(poller& events, file socket, answerer answers, doorkeeper lets_in)
    : events_(events),
      socket_(std::move(socket)),
      answers_(std::move(answers)),
      lets_in_(std::move(lets_in)) {
  events_.watch(socket_.fd(), EPOLLIN);
}

listener::~listener() {
  while (!all_.empty()) close(all_.begin());
  events_.forget(socket_.fd());
}

bool listener::ready(time_point now, poller::event const& e) {
  if (e.fd == socket_.fd()) {
    if (!rests(now)) accept_some(now);
    return true;
  }
  auto const found = std::ranges::find(all_, e.fd, &connection::fd);
  if (found == all_.end()) return false;
  if (!rests(now)) serve(now, found);
  return true;
}

time_point listener::wakeup() const noexcept {
  if (resting_) return rests_until_;
  return all_.empty() ? never : later(all_.front().active, idle_max);
}

void listener::tick(time_point now) {
  if (resting_ && now >= rests_until_) {
    resting_ = false;
    watch_all();
  }
  while (!resting_ && !all_.empty() && now - all_.front().active >= idle_max) close(all_.begin());
}

/// Whether it has done enough for a while: then it looks at no peer until that is over.
bool listener::rests(time_point now) {
  rests_until_ = effort_.ready_at(1);
  if (rests_until_ <= now) return resting_;
  resting_ = true;
  watch_all();
  return true;
}

void listener::watch_all() {
  if (!resting_) accepts_first_ = !accepts_first_;
  if (accepts_first_ || resting_) events_.watch(socket_.fd(), resting_ ? none : in);
  for (auto const& c : all_) watch(c);
  if (!resting_) events_.watch(socket_.fd(), in);
}

void listener::watch(connection const& c) {
  events_.watch(c.fd, resting_ ? none : c.waits_to_ask() ? in : out);
}

void listener::accept_some(time_point now) {
  for (int i = 0; i < accepted_at_once; ++i) {
    auto const fd = accept4(socket_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno != EAGAIN) effort_.take(now, effort_max);  // no descriptor is free
      return;
    }
    effort_.take(now, 1);
    if (lets_in_ && !lets_in_(fd)) {
      ::close(fd);
      continue;
    }
    make_room();
    all_.push_back({.fd = fd, .active = now});
    events_.watch(fd, EPOLLIN);
  }
}

void listener::serve(time_point now, connections::iterator c) {
  if (!converse(now, *c)) return close(c);
  if (c->active == now) all_.splice(all_.end(), all_, c);
  watch(*c);
}

/// For another: one that does not read its answer goes first, then the one longest idle.
void listener::make_room() {
  if (all_.size() < connections_max) return;
  auto const deaf = std::ranges::find_if(all_, [](auto const& c) { return !c.out.empty(); });
  close(deaf == all_.end() ? all_.begin() : deaf);
}

/// Reads once, answers one question, writes what can be written. False: the end.
bool listener::converse(time_point now, connection& c) {
  effort_.take(now, 1);
  if (c.out.empty()) {
    if (!c.more) {
      std::array<char, question_max> bytes;
      auto const n = recv(c.fd, bytes.data(), bytes.size() - c.in.size(), 0);
      if (n < 0) return errno == EAGAIN || errno == EINTR;
      if (n == 0) return false;
      c.in.append(bytes.data(), static_cast<std::size_t>(n));
      c.active = now;
    }
    auto const answer = answers_(c.in);
    c.more = answer && answer->bytes < c.in.size() && !answer->last;
    if (!answer) return c.in.size() < question_max;
    effort_.take(now, static_cast<std::int64_t>(1 + answer->text.size() / effort_bytes));
    c.in.erase(0, answer->bytes);
    c.out = answer->text;
    c.last = answer->last;
    if (c.out.empty()) return !c.last;
  }
  auto const n = send(c.fd, c.out.data(), c.out.size(), MSG_NOSIGNAL);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  c.active = now;
  c.out.erase(0, static_cast<std::size_t>(n));
  return !c.out.empty() || !c.last;
}

void listener::close(connections::iterator c) {
  events_.forget(c->fd);
  ::close(c->fd);
  all_.erase(c);
}

file listen_at(std::string_view option, std::string const& address) {
  auto const wrong = [&](std::string_view why) {
    return fatal(exit_usage, fmt::format("{} {}: {}", option, in_quotes(address), why));
  };
  auto const colon = address.rfind(':');
  auto const port = address.substr(colon == address.npos ? 0 : colon + 1);
  auto host = address.substr(0, colon);
  if (colon == address.npos || port.empty() || port.size() > 5 ||
      !std::ranges::all_of(port, is_digit) || std::stoi(port) > 65535)
    throw wrong("want HOST:PORT, as 127.0.0.1:9464");
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  auto const error =
      getaddrinfo(host.empty() ? "127.0.0.1" : host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) throw wrong(gai_strerror(error));
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> const all(found, freeaddrinfo);
  file socket(::socket(all->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), address);
  int const yes = 1;
  if (socket.fd() < 0 || setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      bind(socket.fd(), all->ai_addr, all->ai_addrlen) != 0 || listen(socket.fd(), 64) != 0)
    throw wrong(std::strerror(errno));
  return socket;
}

}  // namespace headway::app
