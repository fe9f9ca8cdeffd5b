#include "client/header_commands.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/fatal.hpp"

namespace headway::app {
namespace {

class header_commands_test : public testing::Test {
 protected:
  using options = std::vector<std::string>;

  /// Runs the round that is due, to its end; whether there are new values.
  bool round(header_commands& all) {
    auto fresh = all.flush(clock_now());
    auto const failed = all.failures();
    while (!fresh && all.failures() == failed) {
      for (auto const& e : events.wait(all.wakeup())) EXPECT_TRUE(all.ready(e));
      fresh = all.flush(clock_now());
    }
    return fresh;
  }
  /// Why its first round fails.
  std::string problem(std::string const& option) {
    header_commands all(events, options{option}, {});
    EXPECT_FALSE(round(all));
    EXPECT_EQ(all.failures(), 1);
    EXPECT_EQ(all.generation(), 0U);
    return all.problem();
  }
  poller events;
};

TEST_F(header_commands_test, what_commands_print_stands_where_they_are) {
  header_commands all(
      events, options{"Authorization: Bearer $(echo \" a b \") !", "X-Two:$(printf 2)"}, {});
  auto lines = all.stand_ins();
  EXPECT_TRUE(header_commands::needed_by(lines));
  lines.insert(lines.begin(), "Accept: */*");
  ASSERT_TRUE(round(all));
  EXPECT_EQ(all.generation(), 1U);
  EXPECT_EQ(all.filled(lines), (options{"Accept: */*", "Authorization: Bearer a b !", "X-Two: 2"}));
  EXPECT_FALSE(header_commands::needed_by(all.filled(lines)));
  EXPECT_EQ(all.wakeup(), never);
}

TEST_F(header_commands_test, an_option_of_another_form_is_refused) {
  for (auto const* wrong : {"A", "A: b", "A: $(", "A $(x): y", "A: $( )", ": $(x)", "A B: $(x)"})
    EXPECT_THROW(header_commands(events, options{wrong}, {}), fatal) << wrong;
}

TEST_F(header_commands_test, a_command_that_prints_no_value_is_told_why) {
  auto const why = [&](std::string const& command) {
    auto const text = problem("A: $(" + command + ")");
    std::string const begin = "--header-cmd: the command for A ";
    EXPECT_TRUE(text.starts_with(begin)) << text;
    return text.substr(begin.size());
  };
  EXPECT_EQ(why("exit 3"), "failed with exit code 3");
  EXPECT_EQ(why("kill -KILL $$"), "was ended by signal 9");
  EXPECT_EQ(why("true"), "printed nothing");
  EXPECT_EQ(why("printf 'a\\nb'"), "printed more than one line");
  EXPECT_EQ(why("printf 'a\\001b'"), "printed a control character");
  EXPECT_EQ(why("yes"), "printed more than 16 KiB");
}

TEST_F(header_commands_test, one_that_fails_ends_the_others_and_is_tried_again) {
  header_commands all(events, options{"A: $(sleep 1000)", "B: $(exit 1)"}, {});
  auto const begun = clock_now();
  EXPECT_FALSE(round(all));
  EXPECT_GE(all.wakeup(), begun + 1s);
  EXPECT_LE(all.wakeup(), clock_now() + 1s);
}

TEST_F(header_commands_test, a_value_that_is_refused_is_asked_for_again_once) {
  header_commands all(events, options{"A: $(echo x)"}, {});
  ASSERT_TRUE(round(all));
  all.refuse(0);
  EXPECT_FALSE(all.refused()) << "of values that are no longer in use";
  all.refuse(1);
  EXPECT_TRUE(all.refused());
  EXPECT_LE(all.wakeup(), clock_now() + 1s) << "but no more than one a second";
}

TEST_F(header_commands_test, values_are_asked_for_again_when_they_are_old) {
  header_commands all(events, options{"A: $(echo x)"}, 10min);
  ASSERT_TRUE(round(all));
  EXPECT_GE(all.wakeup(), clock_now() + 9min);
  EXPECT_LE(all.wakeup(), clock_now() + 10min);
}

}  // namespace
}  // namespace headway::app
