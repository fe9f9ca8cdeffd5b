#include "proxy/state_json.hpp"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <limits>
#include <string>

namespace headway::app {
namespace {

proxy_state one_scope() {
  proxy_state s;
  s.now = std::chrono::system_clock::time_point(1'500ms);
  s.upstreams.emplace_back();
  s.upstreams.front().scopes.emplace_back();
  return s;
}

TEST(state_json, unknown_figures_are_null) {
  auto s = one_scope();
  s.upstreams[0].scopes[0].rate = std::numeric_limits<double>::infinity();
  simdjson::dom::parser parser;
  auto const all = parser.parse(state_json(s));
  EXPECT_EQ(std::string_view(all["now"]), "1970-01-01T00:00:01.500Z");
  auto const scope = all["upstreams"].at(0)["scopes"].at(0);
  EXPECT_TRUE(scope["rate_per_s"].is_null());
  EXPECT_TRUE(scope["window"].is_null());
  EXPECT_TRUE(scope["held"]["for_s"].is_null());
  EXPECT_TRUE(all["upstreams"].at(0)["last_minute"]["wait_p99_s"].is_null());
}

TEST(state_json, times_are_seconds) {
  auto s = one_scope();
  s.uptime = 1h + 1us;
  s.upstreams[0].scopes[0].held.for_time = 21ms;
  simdjson::dom::parser parser;
  auto const all = parser.parse(state_json(s));
  EXPECT_EQ(double(all["uptime_s"]), 3600);  // six digits
  EXPECT_EQ(double(all["upstreams"].at(0)["scopes"].at(0)["held"]["for_s"]), .021);
}

TEST(state_json, text_of_clients_stays_text) {
  auto s = one_scope();
  s.last.emplace_back();
  s.last[0].path = "/\"\\\x01\xff</script>";
  simdjson::dom::parser parser;
  EXPECT_EQ(std::string_view(parser.parse(state_json(s))["last"].at(0)["path"]),
            "/\"\\\x01\xc3\xbf</script>");
}

}  // namespace
}  // namespace headway::app
