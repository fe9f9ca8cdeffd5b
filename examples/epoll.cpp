// A loop of your own: epoll for answers, a timerfd for the next turn. Usage: example_epoll PORT

#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <headway/driver/polled.hpp>

#include <cstdio>
#include <string>
#include <unordered_map>

namespace {

int connect_to(int port) {  // blocks, for it is this machine; what fails, fails when it is read
  sockaddr_in to{};
  to.sin_family = AF_INET, to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int const fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), fd;
}

void arm(int timer, headway::time_point at) {
  auto const ns = at == headway::never ? 0 : at.time_since_epoch().count();  // zero: not at all
  itimerspec const when{.it_interval = {}, .it_value = {ns / 1'000'000'000, ns % 1'000'000'000}};
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s PORT\n", argv[0]), 2;
  int const loop = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, 0);
  headway::polled api;
  std::unordered_map<int, headway::ticket> flying;
  epoll_event event{.events = EPOLLIN, .data = {.fd = timer}};
  epoll_ctl(loop, EPOLL_CTL_ADD, timer, &event);
  for (int i = 0; i < 100; ++i) api.submit();
  for (int done = 0; done < 100;) {
    while (auto const turn = api.next()) {
      int const fd = event.data.fd = connect_to(std::stoi(argv[1]));
      [[maybe_unused]] auto const sent = write(fd, "GET / HTTP/1.0\r\n\r\n", 18);
      epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event);
      flying.emplace(fd, *turn);
    }
    arm(timer, api.wakeup());
    epoll_wait(loop, &event, 1, -1);
    char text[64] = {};  // "HTTP/1.1 429 …"; of the timer, how often it went off
    auto const size = std::max(read(event.data.fd, text, sizeof text), ssize_t{0});
    std::string const answer(text, static_cast<std::size_t>(size));
    if (event.data.fd == timer || close(event.data.fd) != 0) continue;
    auto const what = answer.substr(0, 5) != "HTTP/"        ? headway::outcome::failure
                      : answer.find(" 429 ") != answer.npos ? headway::outcome::throttle
                                                            : headway::outcome::success;
    auto const then = api.done(flying.extract(event.data.fd).mapped(), {.what = what});
    if (then.what == headway::verdict::give_up) return std::puts("gave up"), 1;
    done += then.what == headway::verdict::done;
  }
  std::puts("100 of 100");
}
