// A listener hears each event as it happens: here it prints why a call was not sent, and counts
// what was throttled.

#include <headway/driver/blocking.hpp>

#include <atomic>
#include <cstdio>
#include <random>

namespace {

std::atomic<int> throttled = 0;  // listeners are copied into every scope, and called by any thread

/// What is not hidden here stays as it is in no_listener, and costs nothing.
struct event_log : headway::no_listener {
  void answered(headway::time_point, headway::ticket, headway::outcome what,
                headway::decision const& /*what becomes of it*/) const noexcept {
    throttled += what == headway::outcome::throttle;
  }
  void refused(headway::time_point, headway::refused const& no) const noexcept {
    std::printf("not sent: %s\n", headway::to_string(no.why).data());
  }
};

/// Stands for your client: every fifth call is throttled.
int put_item() {
  static int calls = 0;
  return ++calls % 5 == 0 ? 429 : 200;
}
headway::outcome judge(int status) {
  return status == 429 ? headway::outcome::throttle : headway::outcome::success;
}

}  // namespace

int main() {
  headway::basic_throttled<headway::default_governor, event_log> api({}, 1024,
                                                                     std::random_device{}());
  for (int item = 0; item < 20; ++item) api.call(put_item, judge);
  auto const late = api.try_call(put_item, judge, {.deadline = headway::steady_now()});

  std::printf("%d throttled\n", throttled.load());
  return !late && throttled == 4 ? 0 : 1;
}
