// Prints a report whose every figure is known: ten laws, three seeds, and a title that attacks.
#include <cstdio>
#include <string>
#include <vector>

#include "page/page.hpp"

using namespace headway;

namespace {

// `scale` requests a second at first, one less each second; every fourth is throttled.
sim::figures run(int seconds, int scale, std::uint64_t seed, bool timeline) {
  sim::figures f;
  f.requests = f.done = 100;
  f.attempts = 100 + scale;
  f.throttled = scale;
  f.completion = std::chrono::seconds(seconds) + std::chrono::milliseconds(100) * seed;
  f.finished = true;
  f.worst_second = scale / 4;
  f.p50 = 50ms;
  f.p99 = 900ms;
  for (int s = 0; timeline && s < seconds; ++s) {
    auto const attempts = s < scale ? scale - s : 0;
    f.timeline.push_back({.at = std::chrono::seconds(s),
                          .attempts = attempts,
                          .accepted = attempts - attempts / 4,
                          .throttled = attempts / 4,
                          .window = scale / 2.0,
                          .in_flight = attempts / 2});
  }
  return f;
}

app::comparison::row row_of(std::string name, int seconds, int scale) {
  app::comparison::row r{std::move(name)};
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    r.runs.push_back(run(seconds, scale, seed, seed == 1));
  return r;
}

}  // namespace

int main() {
  app::comparison c;
  c.title = "</script><img src=http://127.0.0.1:9/ onerror=alert(1)> & co";
  c.what.about = "A page is text, whatever the scenario calls itself: <b>\"bold\"</b>.";
  c.seeds = {1, 2, 3};
  c.told = row_of("told", 10, 12);
  c.rows = {row_of("seek", 12, 16),
            row_of("exponential-decorrelated", 1500, 4000),
            c.told,
            {.law = "hammer", .runs = {}}};
  for (int i = 0; i < 6; ++i)
    c.rows.push_back(row_of("rival-" + std::to_string(i), 20 + i, 40 + i));
  c.rows.push_back(row_of("reckless", 11, 4000));  // the fastest, by being refused
  auto other = c;
  other.title = "another";
  other.rows = {c.rows[1], c.rows[0]};
  auto swept = other, slower = other;
  swept.title = "swept latency=5ms";
  slower.title = "swept latency=50ms";
  swept.what.name = slower.what.name = "swept";
  swept.sweep = {{"latency", "5ms"}};
  slower.sweep = {{"latency", "50ms"}};
  slower.rows[1] = row_of("seek", 24, 16);
  app::comparison const all[] = {c, other, swept, slower};
  std::puts(app::report_page(all, "headway simulate sample --report <file>").c_str());
}
