// The floor under `headway run`: libcurl's multi interface and nothing else. It keeps IN_FLIGHT
// requests out, reads no file, writes none, and forgets every answer.
//
//   bare_multi poll|socket REQUESTS IN_FLIGHT URL
//
// poll: curl_multi_poll, the faster loop of few; socket: curl_multi_socket_action, that of many.

#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::size_t discard(char*, std::size_t size, std::size_t count, void*) {
  return size * count;
}

class epoll_loop {
 public:
  explicit epoll_loop(CURLM* multi) : multi_(multi) {
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  }
  ~epoll_loop() { close(epoll_); }
  epoll_loop(epoll_loop const&) = delete;
  epoll_loop& operator=(epoll_loop const&) = delete;

  void turn() {
    std::array<epoll_event, 256> events;
    auto const n = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), wait_ms_);
    int running = 0;
    for (int i = 0; i < n; ++i) {
      auto const& e = events[static_cast<std::size_t>(i)];
      int const what = (e.events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                       (e.events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                       (e.events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
      curl_multi_socket_action(multi_, e.data.fd, what, &running);
    }
    if (n <= 0 || wait_ms_ == 0) curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
  }

 private:
  static int on_socket(CURL*, curl_socket_t fd, int what, void* self, void* known) {
    auto& loop = *static_cast<epoll_loop*>(self);
    epoll_event e{.events = (what & CURL_POLL_IN ? std::uint32_t{EPOLLIN} : 0U) |
                            (what & CURL_POLL_OUT ? std::uint32_t{EPOLLOUT} : 0U),
                  .data = {.fd = fd}};
    auto const operation = what == CURL_POLL_REMOVE ? EPOLL_CTL_DEL
                           : known == nullptr       ? EPOLL_CTL_ADD
                                                    : EPOLL_CTL_MOD;
    epoll_ctl(loop.epoll_, operation, fd, &e);
    curl_multi_assign(loop.multi_, fd, what == CURL_POLL_REMOVE ? nullptr : self);
    return 0;
  }

  static int on_timer(CURLM*, long milliseconds, void* self) {
    static_cast<epoll_loop*>(self)->wait_ms_ =
        milliseconds < 0 || milliseconds > 100 ? 100 : static_cast<int>(milliseconds);
    return 0;
  }

  CURLM* multi_;
  int epoll_ = epoll_create1(EPOLL_CLOEXEC);
  int wait_ms_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  bool const polls = std::string_view(argv[1]) == "poll";
  int const requests = std::atoi(argv[2]);
  int const in_flight = std::atoi(argv[3]);
  std::string const url = argv[4];

  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURLM* const multi = curl_multi_init();
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 10'000L);
  std::vector<CURL*> handles;
  int failed = 0;
  double seconds = 0;
  {
    std::unique_ptr<epoll_loop> const loop(polls ? nullptr : new epoll_loop(multi));
    int started = 0;
    auto const start = [&](CURL* easy) {
      curl_easy_setopt(easy, CURLOPT_URL, (url + std::to_string(++started)).c_str());
      curl_multi_add_handle(multi, easy);
    };
    auto const began = std::chrono::steady_clock::now();
    for (int i = 0; i < in_flight; ++i) {
      handles.push_back(curl_easy_init());
      curl_easy_setopt(handles.back(), CURLOPT_WRITEFUNCTION, discard);
      start(handles.back());
    }
    for (int done = 0; done < requests;) {
      int running = 0;
      if (loop)
        loop->turn();
      else
        curl_multi_perform(multi, &running);
      int left = 0;
      while (auto const* message = curl_multi_info_read(multi, &left)) {
        auto* const easy = message->easy_handle;
        long status = 0;
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        failed += status != 200;
        ++done;
        curl_multi_remove_handle(multi, easy);
        if (started < requests) start(easy);
      }
      if (polls && done < requests) curl_multi_poll(multi, nullptr, 0, 100, nullptr);
    }
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    for (auto* easy : handles) curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
  }
  curl_global_cleanup();
  fmt::print("{:.0f}\n", requests / seconds);
  return failed > 0 ? 1 : 0;
}
