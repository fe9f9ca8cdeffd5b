// The smallest: make one, wrap the call, say what a throttle looks like.

#include <headway/driver/blocking.hpp>

#include <cstdio>

namespace {

struct reply {
  int status;
  bool throttled() const { return status == 429; }
};

/// Stands for a client of yours: its first call comes too early.
struct {
  int calls = 0;
  reply put_item(int) { return {++calls == 1 ? 429 : 200}; }
} client;

}  // namespace

int main() {
  int const item = 7;

  headway::throttled api;  // the default law
  auto answer =
      api.call([&] { return client.put_item(item); },
               [](auto const& r) {
                 return r.throttled() ? headway::outcome::throttle : headway::outcome::success;
               });

  std::printf("%d after %d calls\n", answer.status, client.calls);
  return client.calls == 2 && !answer.throttled() ? 0 : 1;
}
