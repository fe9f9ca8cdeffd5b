// The three jitters of seed text 004, chosen by name: five sleeps of each, from 1 s up to 10 s.

#include <headway/headway.hpp>
#include <headway/text/law.hpp>

#include <cstdio>

int main() {
  using namespace std::chrono_literals;
  headway::rng chance(2020);
  bool all_within = true;
  for (auto const* text : {"backoff(full,base=1s,cap=10s)", "backoff(equal,base=1s,cap=10s)",
                           "backoff(decorrelated,base=1s,cap=10s)"}) {
    auto const law = headway::parse_law(text);
    std::printf("%s\n", text);
    headway::duration sleep{};
    for (int attempt = 0; attempt < 5; ++attempt) {
      sleep = law.backoff.delay(attempt, sleep, chance());
      std::printf("  sleep: %.0f ms\n", headway::to_seconds(sleep) * 1e3);
      all_within = all_within && sleep <= 10s;
    }
  }
  return all_within ? 0 : 1;
}
