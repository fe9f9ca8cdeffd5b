#include "run/suspected_throttles.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

TEST(suspected_throttles, are_refusals_between_successes) {
  for (int const status : {400, 402, 403, 418, 420, 430}) {
    suspected_throttles s;
    for (int n = 0; n < 100; ++n) s.refused("https://a.example:443", status);
    EXPECT_EQ(s.words(), "") << "before any success";
    for (int n = 0; n < 19; ++n) {
      s.succeeded("https://a.example:443");
      s.refused("https://a.example:443", status);
      s.refused("https://a.example:443", status);
    }
    EXPECT_EQ(s.words(), "") << "too few successes";
    s.succeeded("https://a.example:443");
    auto const code = std::to_string(status), said = s.words();
    EXPECT_TRUE(said.starts_with("a.example: 38 times " + code + " came between successes; "));
    EXPECT_NE(said.find("\n  status = [" + code + "]\n  means = \"rate\"\n"), said.npos) << said;
  }
}

TEST(suspected_throttles, are_counted_by_status) {
  suspected_throttles s;
  for (int n = 0; n < 30; ++n) {
    s.succeeded("https://a.example:443");
    s.refused("https://a.example:443", n % 3 == 0 ? 400 : 403);
  }
  s.succeeded("https://a.example:443");
  EXPECT_TRUE(s.words().starts_with("a.example: 20 times 403 ")) << s.words();
  EXPECT_EQ(s.words().find("400"), std::string::npos) << "10 times";
}

TEST(suspected_throttles, are_not_those_that_are_about_the_request) {
  suspected_throttles s;
  for (int n = 0; n < 100; ++n) {
    s.succeeded("https://a.example:443");
    for (int const status : {301, 401, 404, 407, 408, 409, 410, 413, 422, 429, 500})
      s.refused("https://a.example:443", status);
  }
  EXPECT_EQ(s.words(), "");
}

TEST(suspected_throttles, after_all_successes_are_refusals) {
  suspected_throttles s;
  for (int n = 0; n < 100; ++n) s.succeeded("https://a.example:443");
  for (int n = 0; n < 100; ++n) s.refused("https://a.example:443", 403);
  EXPECT_EQ(s.words(), "");
}

}  // namespace
}  // namespace headway::app
