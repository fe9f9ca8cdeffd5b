// Prints the report of a run whose every figure is known, and whose names attack.
#include <cstdio>

#include "report/html.hpp"

using namespace headway;

namespace {

constexpr char attack[] = "</td></style><img src=http://127.0.0.1:9/ onerror=alert(1)><b>";

app::traced_figures traced() {
  app::traced_figures f{.law = "seek", .requests = 1180, .took = 30s, .moment = 100ms};
  for (int i = 0; i < 300; ++i) {
    app::moment m{.accepted = i % 7 == 0 ? 4 : 5, .in_flight = 3 + i % 4, .p50 = 0.05, .p99 = 0.1};
    m.limit = i < 20 ? 0 : i < 150 ? 50 : 48;
    m.throttled = i == 20 || i == 150 ? 3 : 0;
    m.failed = i == 200 ? 2 : 0;
    m.held[to_string(i > 150 && i < 170 ? reason::server_hint : reason::pace)] = 0.09;
    f.attempts += m.accepted + m.throttled + m.failed;
    f.throttled += m.throttled;
    f.failed += m.failed;
    for (auto const& [why, s] : m.held) f.held[why] += s;
    f.moments.push_back(m);
  }
  f.scopes.push_back({.name = std::string("https://api.example ") + attack,
                      .attempts = f.attempts,
                      .throttled = f.throttled,
                      .failed = f.failed,
                      .limit = 48.2});
  f.scopes.push_back({.name = "https://other.example", .attempts = 12, .slots = 4});
  f.costs["tokens"] = {.answers = 1180, .expected = 401'200, .told = 354'000};
  f.costs[attack] = {.answers = 1, .told = 2};
  f.changed.emplace_back(12s, std::string("scope ") + attack + " rate 20/s");
  return f;
}

app::forecast forecast() {
  app::forecast f{.scope = "https://api.example",
                  .elsewhere = true,
                  .attempts = 1192,
                  .requests = 1180,
                  .limit = "rate=48/s,burst=10",
                  .how_sure = "sure: explains 6 of 6 refusals"};
  f.like = {
      .took = 24'500ms, .recorded_took = 25s, .throttled = 0.006, .recorded_throttled = 0.005};
  f.rows = {{.law = "told", .took = 24'300ms, .attempts = 1180},
            {.law = "reno", .took = 26s, .throttled = 0.04, .attempts = 1230},
            {.law = "exponential", .ended = false}};
  return f;
}

app::result_figures results() {
  app::result_figures f{.success = 1178, .failed = 2, .attempts = 1192, .throttled = 6};
  f.waited = 14'000, f.p50 = 0.05, f.p99 = 0.1, f.max = 1.2;
  f.endings[{"api.example", "success", 200}] = {.count = 1178, .example_id = "1"};
  f.endings[{"api.example", "failed", 400}] = {
      .count = 2, .example_id = attack, .reason = std::string(300, 'x') + attack};
  return f;
}

}  // namespace

int main() {
  std::puts(app::in_html({.title = std::string("headway run: ") + attack,
                          .trace = traced(),
                          .laws = forecast(),
                          .results = results()})
                .c_str());
}
