#include "page/page.hpp"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <string>

#include "base/fatal.hpp"
#include "base/web_page.hpp"

namespace headway::app {

extern web_page const simulate_page;

namespace {

/// One law beside the limit-known sender; `moments` a tenth of a second apart, `attempts` in each.
comparison of_moments(int moments, int attempts) {
  sim::figures run;
  run.done = 10;
  run.attempts = 20;
  run.throttled = 10;
  run.completion = 2s;
  for (int i = 0; i < moments; ++i)
    run.timeline.push_back({.at = 100ms * i, .attempts = attempts, .window = 1e300});
  comparison c;
  c.title = "a <b> & \"c\"";
  c.seeds = {18446744073709551615U};
  c.rows.push_back({"seek", {run}});
  run.completion = 1s;
  c.told = {"told", {run}};
  return c;
}

struct parsed {
  explicit parsed(comparison const& c) : page(report_page({&c, 1}, "x </script>")) {
    auto const begin = page.find("id=\"data\">") + 10;
    text = page.substr(begin, page.find("</script>", begin) - begin);
    whole = parser.parse(text);
    first = whole["scenarios"].at(0);
  }
  std::string page, text;
  simdjson::dom::parser parser;
  simdjson::dom::element whole, first;
};

class report : public testing::Test {
  void SetUp() override {
    if (!simulate_page.built()) GTEST_SKIP() << "HEADWAY_WEB=OFF";
  }
};

TEST_F(report, no_text_ends_the_data) {
  parsed const p(of_moments(2, 1));
  EXPECT_EQ(p.text.find('<'), p.text.npos);
  EXPECT_EQ(std::string_view(p.whole["command"]), "x </script>");
  EXPECT_EQ(std::string_view(p.first["title"]), "a <b> & \"c\"");
}

TEST_F(report, figures_and_seeds_are_exact) {
  parsed const p(of_moments(2, 1));
  EXPECT_EQ(std::string_view(p.first["seeds"].at(0)), "18446744073709551615");
  auto const law = p.first["laws"].at(0);
  EXPECT_EQ(double(law["figures"]["times_told"]["median"]), 2);
  EXPECT_EQ(double(law["figures"]["throttled_share"]["runs"].at(0)), 50);
  EXPECT_TRUE(law["line"]["window"].at(0).is_null()) << "a law without a window";
}

TEST_F(report, timelines_are_thinned_and_rates_stay) {
  struct {
    int moments;
    std::size_t points;
    std::int64_t each;
  } const cases[] = {{2, 2, 1}, {600, 600, 1}, {601, 301, 2}, {5000, 313, 16}};
  for (auto const& [moments, points, each] : cases) {
    parsed const p(of_moments(moments, 3));
    auto const line = p.first["laws"].at(0)["line"];
    EXPECT_EQ(std::int64_t(line["each"]), each);
    auto const attempts = simdjson::dom::array(line["attempts"]);
    EXPECT_EQ(attempts.size(), points);
    double second = 0;  // the first one only fills
    for (double const rate : attempts) {
      second += 0.1 * static_cast<double>(each);
      EXPECT_NEAR(rate, 30 * std::min(second, 1.0), 1e-4) << moments;
    }
  }
}

TEST_F(report, a_law_that_was_not_measured_has_no_figures) {
  auto c = of_moments(2, 1);
  c.rows.front().runs.clear();
  parsed const p(c);
  EXPECT_EQ(simdjson::dom::object(p.first["laws"].at(0)["figures"]).size(), 0U);
}

TEST(require_report, says_how_to_get_one) {
  if (simulate_page.built()) return require_report();
  try {
    report_page({});
    FAIL() << "a page from nothing";
  } catch (fatal const& error) {
    EXPECT_EQ(error.code, exit_usage);
    EXPECT_NE(std::string_view(error.what()).find("-DHEADWAY_WEB=ON"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace headway::app
