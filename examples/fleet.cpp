// Hosts that share one limit by a PostgreSQL that they have: each is told turns, a refusal holds
// all.

#include <headway/driver/pace_governor.hpp>
#include <headway/driver/shared_governor.hpp>
#include <headway/postgres/board.hpp>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

// Stands for the API.
headway::attempt_result ask() {
  std::this_thread::sleep_for(20ms);
  return {};
}

int main() try {
  auto const* const url = std::getenv("HEADWAY_FLEET");
  if (url == nullptr)
    return std::puts("HEADWAY_FLEET names no database, as postgresql://me@db/work"), 0;
  headway::postgres::board board(headway::postgres::endpoint(url),
                                 {.name = "example", .version = "1"});
  auto const key = "https://api.example\n" + std::string("digest of a credential");
  auto const pace = board.join(key, "api.example", headway::any_law{headway::seek{}});
  headway::blocking::shared_governor api(headway::pace_governor{pace});

  std::vector<std::jthread> workers;
  for (int i = 0; i < 4; ++i)
    workers.emplace_back([&api] {
      for (int n = 0; n < 10; ++n) api.call(ask, [](auto said) { return said; });
    });
  workers.clear();
  auto const fleet = pace->look();
  std::printf("40 served; %d hosts, %.0f/s together\n", fleet.members, fleet.pace);
  return fleet.members > 0 ? 0 : 1;
} catch (headway::postgres::error const& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}
