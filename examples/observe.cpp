// A test of code that calls by a driver: with an observing governor nothing waits, and what would
// have waited is counted.

#include <headway/driver/blocking.hpp>

#include <cstdio>

namespace {

/// Stands for the client in your test: it throttles every fifth call.
int put_item(int) {
  static int calls = 0;
  return ++calls % 5 == 0 ? 429 : 200;
}

/// The code under test: it is given its driver, a `headway::throttled` in production.
template <class Api>
int upload(Api& api, int items) {
  int done = 0;
  for (int item = 0; item < items; ++item)
    done +=
        api.call([&] { return put_item(item); },
                 [](int status) {
                   return status == 429 ? headway::outcome::throttle : headway::outcome::success;
                 }) == 200;
  return done;
}

}  // namespace

int main() {
  using namespace std::chrono_literals;
  headway::basic_throttled api(headway::default_observer({.base = 0s}));
  int const done = upload(api, 1'000);

  auto const m = api.metrics();
  std::printf("%d done, %lld sent, of which %lld would have waited\n", done,
              static_cast<long long>(m.sent), static_cast<long long>(m.observed.requests));
  return done == 1'000 && m.sent == 1'249 && m.throttled == 249 && m.observed.requests > 0 ? 0 : 1;
}
