#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headway/http/advice.hpp"
#include "headway/http/retry_after.hpp"
#include "headway/require.hpp"
#include "provider/profile.hpp"

// An answer: a byte for the status, `name: value` lines, an empty line, the body. Whatever it says,
// what comes of it is bounded, and no hint is negative.
extern "C" int LLVMFuzzerTestOneInput(char const* data, std::size_t size) {
  using namespace headway;
  using namespace headway::app;
  if (size == 0) return 0;
  constexpr int statuses[] = {0, 200, 204, 302, 400, 401, 403, 413, 418, 429, 500, 503, 529, 999};
  auto const status = statuses[static_cast<unsigned char>(data[0]) % std::size(statuses)];
  std::string_view rest(data + 1, size - 1);
  std::vector<http::field> fields;
  while (!rest.empty()) {
    auto const line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.empty()) break;
    auto const colon = std::min(line.find(':'), line.size());
    fields.push_back({line.substr(0, colon), line.substr(std::min(colon + 1, line.size()))});
  }
  std::chrono::sys_seconds const now{std::chrono::seconds(1'780'000'000)};
  auto const told = http::advice_of(fields, now);
  auto const sensible = [](std::optional<duration> const& d) {
    return !d || (*d >= duration::zero() && *d <= http::wait_max);
  };
  HEADWAY_REQUIRE(sensible(told.retry_after));
  HEADWAY_REQUIRE(told.quotas.size() <= 16);
  for (auto const& q : told.quotas) {
    HEADWAY_REQUIRE(sensible(q.reset) && sensible(q.window));
    HEADWAY_REQUIRE(!q.remaining || *q.remaining >= 0);
    HEADWAY_REQUIRE(q.name.size() <= 64);
  }
  static auto const profiles = [] {
    std::vector<profile> all;
    for (auto const& name : profile::names()) all.push_back(profile::named(name));
    return all;
  }();
  for (auto const& p : profiles)
    for (auto const* type : {"application/json", "text/event-stream"}) {
      auto const j =
          p.judge({.status = status, .fields = fields, .type = type, .body = rest}, rest, now);
      HEADWAY_REQUIRE(sensible(j.hold));
      for (auto const& q : j.quotas) HEADWAY_REQUIRE(sensible(q.reset) && sensible(q.window));
      HEADWAY_REQUIRE(j.code.size() <= 200);
      HEADWAY_REQUIRE(p.partition_of(rest, rest).size() <= 200);
      HEADWAY_REQUIRE(p.joined(rest, rest).size() <= 3 * rest.size() + 100);
      HEADWAY_REQUIRE(status != 999 || j.what != reaction::served);
    }
  return 0;
}
