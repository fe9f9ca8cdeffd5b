// The core in one loop: a governor decides when each call goes, and learns from each answer.

#include <headway/headway.hpp>

#include <cstdio>
#include <thread>

namespace {

headway::time_point now() {
  return headway::time_point(std::chrono::steady_clock::now().time_since_epoch());
}

/// Stands for an API of yours: it takes 50 calls a second, 10 at once, and does not say so.
bool throttled_call(int) {
  static auto limit = headway::gcra::per(50, std::chrono::seconds(1), 10);
  auto const at = now();
  if (limit.ready_at(1) > at) return true;
  limit.take(at, 1);
  return false;
}

}  // namespace

int main() {
  int calls = 0, throttled = 0;
  auto const began = now();

  headway::default_governor governor;  // the default law: nothing to configure
  headway::rng chance(42);
  for (int item = 0; item < 200; ++item) {
    auto const id = std::get<headway::ticket>(governor.submit(now()));
    for (auto next = headway::verdict::retry; next == headway::verdict::retry;) {
      while (!governor.next(now())) std::this_thread::sleep_for(governor.wakeup(now()) - now());
      governor.start(now(), id, chance());
      bool const refused = throttled_call(item);
      auto const what = refused ? headway::outcome::throttle : headway::outcome::success;
      next = governor.finish(now(), id, {.what = what}, chance()).what;
      ++calls, throttled += refused;
    }
  }

  std::printf("200 items done in %.1f s: %d calls, %d of them throttled\n",
              headway::to_seconds(now() - began), calls, throttled);
  return calls - throttled == 200 ? 0 : 1;
}
