#include "simulate/sweep.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/test_error.hpp"

namespace headway::app {
namespace {

/// "a=1 b=2 | a=1 b=3".
std::string told(std::vector<std::string> const& sweeps) {
  std::string text;
  for (auto const& combination : combinations(sweeps)) {
    text += text.empty() ? "" : " |";
    for (auto const& s : combination) text += " " + s.key + "=" + s.value;
  }
  return text;
}

TEST(sweep, every_combination_of_all_values) {
  EXPECT_EQ(told({"a=1,2", "b=3,4"}), " a=1 b=3 | a=2 b=3 | a=1 b=4 | a=2 b=4");
}

TEST(sweep, commas_belong_to_values_where_a_semicolon_separates_them_or_ends_the_only_one) {
  EXPECT_EQ(told({"limit=rate=5/s,burst=2;rate=7/s"}), " limit=rate=5/s,burst=2 | limit=rate=7/s");
  EXPECT_EQ(told({"latency=lognormal=50ms,cv=.3;"}), " latency=lognormal=50ms,cv=.3");
  EXPECT_EQ(told({"latency=50ms;60ms;"}), " latency=50ms | latency=60ms");
}

TEST(sweep, without_a_key_or_a_value_is_none) {
  for (auto const* const wrong : {"latency", "latency=", "latency=;", "=5ms", ""})
    EXPECT_EQ(usage_error_of([&] { combinations({wrong}); }),
              std::string("--sweep '") + wrong +
                  "' is not KEY=VALUE,VALUE,…, nor KEY=VALUE; with a value that has commas");
}

}  // namespace
}  // namespace headway::app
