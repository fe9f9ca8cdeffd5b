// The limit is known and no order is needed: a pacer in one atomic, for any number of threads.

#include <headway/driver/shared_pacer.hpp>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

int main() {
  using namespace std::chrono_literals;
  headway::shared_pacer pace(headway::gcra::per(1'000, 1s, 10));  // 1,000/s, 10 at once
  auto const began = headway::steady_now();
  std::atomic<int> sent = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int call = 0; call < 50; ++call, ++sent)
          for (;;) {
            auto const now = headway::steady_now();
            auto const at = pace.admit(now);
            if (at <= now) break;
            std::this_thread::sleep_for(at - now);
          }
      });
  }
  auto const took = headway::steady_now() - began;
  std::printf("%d calls in %.3f s\n", sent.load(), headway::to_seconds(took));
  return took >= 190ms ? 0 : 1;  // 10 at once, then one a millisecond
}
