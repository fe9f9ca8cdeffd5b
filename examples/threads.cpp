// Eight threads, one API that none of them knows the limit of. `call` waits for its turn and tries
// again what was throttled.

#include <headway/driver/blocking.hpp>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

struct reply {
  int status;
};

/// Stands for a client of yours: the API takes three calls at once, and does not say so.
reply put_item() {
  static std::atomic<int> inside = 0;
  int const status = ++inside > 3 ? 429 : 200;
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  --inside;
  return {status};
}

}  // namespace

int main() {
  headway::throttled api;  // the default law
  std::atomic<int> done = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        for (int item = 0; item < 25; ++item)
          done += api.call([] { return put_item(); },
                           [](reply const& r) {
                             return r.status == 429 ? headway::outcome::throttle
                                                    : headway::outcome::success;
                           })
                      .status == 200;
      });
  }
  auto const m = api.metrics();
  std::printf("%d of 200 items put: %lld calls, %lld throttled\n", done.load(),
              static_cast<long long>(m.sent), static_cast<long long>(m.throttled));
  return done == 200 ? 0 : 1;
}
