#include <gtest/gtest.h>

#include <stdexcept>

#include "headway/text/law.hpp"

namespace headway {
namespace {

TEST(law_text, a_law_by_its_name_is_as_it_ships) {
  for (auto const& shipped : shipped_laws()) {
    auto const l = parse_law(shipped.name);
    EXPECT_EQ(l.law, shipped.law) << shipped.name;
    EXPECT_EQ(l.backoff, shipped.backoff) << shipped.name;
    EXPECT_EQ(l.throttled, shipped.throttled) << shipped.name;
    EXPECT_EQ(l.name, shipped.name);
  }
}

TEST(law_text, settings_are_where_they_belong) {
  auto const law = [](std::string_view text) { return parse_law(text).law; };
  auto const backoff = [](std::string_view text) { return parse_law(text).backoff; };
  EXPECT_EQ(law("auto-sleeper(initial=1ms,max=15min,max-randomization=2min,up=1.5,down=0.6,"
                "randomization=0,threshold=5)"),
            any_law{(auto_sleeper{.initial_interval = 1ms,
                                  .down_multiplier = 0.6,
                                  .randomization_factor = 0,
                                  .down_multiplier_threshold = 5})});
  EXPECT_EQ(law("tahoe(cut=0.9,cwnd=30,ssthresh=64)"),
            any_law{(paced<hesitant, tahoe>{
                .win = {.cwnd = 30, .ssthresh = 64, .beta = 0.9, .initial = 30}})});
  EXPECT_EQ(law("reno(cut=0.9)"), shipped_law_named("reno-0.9")->law);
  EXPECT_EQ(std::get<seek>(law("seek(start=300/min,leave=30%)").choice).level, 5);
  EXPECT_EQ(std::get<seek>(law("seek(start=300/min,leave=30%)").choice).leave, 0.3);
  auto const fixed = std::get<paced<gcra, fixed_window>>(law("fixed(rate=4/s)").choice);
  EXPECT_EQ(fixed.pace.interval, 250ms);
  auto const adaptive =
      parse_law("adaptive-rate(start=20/s,cut=0.7,rise=0.1/s,least=1/s,most=50/s,quiet=3)");
  auto const pace = std::get<paced<adaptive_rate, fixed_window>>(adaptive.law.choice).pace;
  EXPECT_EQ(pace, (adaptive_rate{20, 0.7, 0.1, 1, 50, {}}));
  EXPECT_EQ(adaptive.quiet_successes, 3);
  EXPECT_EQ(parse_law("adaptive-rate(no-backoff)").throttled, after_throttle::stand_in_line);

  EXPECT_EQ(backoff("backoff(full,base=1s,cap=10s)"), any_backoff{(full_jitter{1s, 10s})});
  EXPECT_EQ(backoff("backoff(equal,base=1s,cap=10s)"), any_backoff{(equal_jitter{1s, 10s})});
  EXPECT_EQ(backoff("backoff(decorrelated,base=1s)"), any_backoff{(decorrelated_jitter{1s, 20s})});
  EXPECT_EQ(backoff("backoff(linear,interval=2s)"), any_backoff{(linear_backoff{2s, 60s})});
  EXPECT_EQ(backoff("backoff(constant,wait=0s)"), any_backoff{(constant_backoff{0s})});
  EXPECT_EQ(backoff("backoff(exponential,first=10ms,multiplier=3,cap=10.24s)"),
            any_backoff{(exponential_backoff{10ms, 3, 10'240ms})});
  EXPECT_EQ(backoff("exponential(first=50ms)"), shipped_law_named("exponential")->backoff);
  EXPECT_EQ(backoff("reno+backoff(equal,base=1s)"), any_backoff{(equal_jitter{1s, 20s})});

  EXPECT_EQ(parse_law("backoff(full)").throttled, after_throttle::back_off);
  EXPECT_EQ(parse_law("backoff(full,reset=7)").throttled, after_throttle::share_level);
  EXPECT_EQ(parse_law("backoff(full,reset=7)").quiet_successes, 7);
  EXPECT_EQ(parse_law("backoff(full,never)").quiet_successes, std::numeric_limits<int>::max());
}

TEST(law_text, what_a_law_calls_itself_is_the_same_law) {
  for (auto const* text : {"tahoe( cut=0.9, cwnd=20 )", "reno + backoff(equal, base=1s)",
                           "backoff(full,base=1s,cap=10s,never)", "fixed(rate=15/min,burst=3)"}) {
    auto const l = parse_law(text);
    auto const again = parse_law(l.name);
    EXPECT_EQ(again.law, l.law) << text;
    EXPECT_EQ(again.backoff, l.backoff) << text;
    EXPECT_EQ(again.quiet_successes, l.quiet_successes) << text;
    EXPECT_EQ(again.name, l.name);
    EXPECT_EQ(l.name.find(' '), l.name.npos);
  }
}

TEST(law_text, says_what_is_wrong_and_what_is_allowed) {
  std::pair<char const*, char const*> const rows[]{
      {"", "'' is not a law; it is one of seek, reno"},
      {"magic(x=1)", "'magic' is not a law; it is one of seek, reno"},
      {"tahoe(cut=1.5)", "cut '1.5' is not a number from 0.01 to 0.99"},
      {"tahoe(cut=nan)", "cut 'nan' is not a number from 0.01 to 0.99"},
      {"tahoe(cut=)", "cut '' is not a number"},
      {"tahoe(cut=0.9,cut=0.8)", "cut is given twice"},
      {"tahoe(cutt=0.9)", "'cutt' is not a setting of tahoe; it has cut, cwnd, ssthresh"},
      {"tahoe(cut=0.9", "'tahoe(cut=0.9' does not end with ')'"},
      {"tahoe((cut=0.9))", "'tahoe((cut=0.9))' has parentheses within parentheses"},
      {"tahoe(,)", "tahoe has an empty setting"},
      {"reno+magic(full)", "'magic' is not backoff(…)"},
      {"reno+backoff(full,never)", "'never' is not a setting of backoff; it has full, base, cap"},
      {"backoff(full)+reno", "backoff stands alone, or last"},
      {"backoff", "backoff begins with full, equal, decorrelated, exponential, linear or constant"},
      {"backoff(full,base=20s,cap=10s)", "base is above cap"},
      {"backoff(full,base=10)", "base '10' is not a time from 1us to 24h"},
      {"backoff(full,base=1e999s)", "base '1e999s' is not a time from 1us to 24h"},
      {"backoff(full,never,reset=3)", "never does not go with reset"},
      {"fixed(rate=0/s)", "rate '0/s' is not a count per time from 1/d to 1000000/s"},
      {"fixed(rate=inf/s)", "rate 'inf/s' is not a count per time from 1/d to 1000000/s"},
      {"fixed(burst=3)", "burst goes with rate only"},
      {"auto-sleeper(threshold=0)", "threshold '0' is not a whole number from 1 to 1000000"},
      {"auto-sleeper(initial=1s,max=1ms)", "initial is above max"},
      {"seek(leave=96%)", "leave '96%' is not a share from 0% to 95%"},
      {"adaptive-rate(least=9/s,most=3/s)", "least is above most"},
  };
  for (auto const& [text, what] : rows) try {
      parse_law(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (std::invalid_argument const& e) {
      EXPECT_EQ(std::string(e.what()).find(what), 0U) << text << " → " << e.what();
    }
}

}  // namespace
}  // namespace headway
