// Two processes, one limit: they meet at a key, share a pace, and what one is told holds both.

#include <headway/driver/machine_governor.hpp>
#include <headway/driver/shared_governor.hpp>
#include <headway/driver/shared_pacer.hpp>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <thread>

using namespace std::chrono_literals;

// Stands for the API: 100 requests a second, of any process; else come back in 300 ms.
struct server {
  headway::shared_pacer pace{headway::gcra::per(100, 1s, 10)};
  std::atomic<headway::duration> told{};  // until when to wait
  std::atomic<int> refused{}, early{};

  headway::attempt_result ask() {
    auto const now = headway::steady_now();
    auto const until = headway::time_point(told.load());
    if (now > until - 280ms && now < until) ++early;  // it had time to hear of it
    std::this_thread::sleep_for(5ms);
    if (pace.admit() <= headway::steady_now()) return {};
    ++refused;
    told = (headway::steady_now() + 300ms).time_since_epoch();
    return {.what = headway::outcome::throttle, .advice = {.retry_after = 300ms}};
  }
};

void client(server& api, std::string const& key) {
  headway::blocking::shared_governor pace(headway::machine_governor{key});
  for (int i = 0; i < 150; ++i)
    pace.call([&] { return api.ask(); }, [](auto said) { return said; });
}

int main() {
  auto* const shared =
      mmap(nullptr, sizeof(server), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  auto& api = *new (shared) server;
  auto const key = "https://api.example/" + std::to_string(getpid());

  auto const child = fork();
  client(api, key);
  if (child == 0) _exit(0);
  int status = 0;
  waitpid(child, &status, 0);
  auto const refused = api.refused.load(), early = api.early.load();
  std::printf("300 served, %d refused, %d came though told to wait\n", refused, early);
  return status == 0 && refused <= 30 && early <= 3 ? 0 : 1;
}
