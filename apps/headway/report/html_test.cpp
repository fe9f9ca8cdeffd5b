#include "report/html.hpp"

#include <gtest/gtest.h>

#include <string>

namespace headway::app {
namespace {

TEST(html, has_keys_of_what_is_drawn_and_says_how_long_a_moment_is) {
  reported r{.title = "a run"};
  r.trace = traced_figures{
      .moment = 40ms,
      .moments = {{.accepted = 3, .in_flight = 2, .limit = 50, .p50 = 0.1, .p99 = 0.2}}};
  auto const page = in_html(r);
  auto const has = [&](std::string const& text) { return page.find(text) != page.npos; };
  EXPECT_TRUE(has("The plots as numbers, by 40 ms<"));
  for (auto const* const drawn : {"accepted", "believed limit", "in flight, at most", "p50", "p99"})
    EXPECT_TRUE(has(std::string("</i>") + drawn + "</span>")) << drawn;
  for (auto const* const missing : {"throttled", "failed", "believed slots"})
    EXPECT_FALSE(has(std::string("</i>") + missing + "</span>")) << missing;
}

}  // namespace
}  // namespace headway::app
