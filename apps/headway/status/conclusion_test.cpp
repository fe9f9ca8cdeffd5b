#include "status/conclusion.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

constexpr time_point now(100s);
constexpr remains::waiting an_hour{.until = now + 1h}, broken{.broken = true};

TEST(conclusion, is_the_gravest_that_holds) {
  struct {
    remains left;
    int code;
    char const* said;
  } const rows[] = {
      {{}, exit_ok, ""},
      {{.failed = true}, exit_failed, ""},
      {{.missed = "5 of 10 requests failed", .failed = true},
       exit_threshold,
       "5 of 10 requests failed"},
      {{.alone = "line 3", .missed = "5 of 10 requests failed", .failed = true},
       exit_parked,
       "left open: refused for longer than --wait-max 15 min 0 s: line 3; run the same command "
       "again later"},
      {{.parked = an_hour, .alone = "line 3", .missed = "", .failed = true},
       exit_parked,
       "parked: the server asks to wait 1 h 0 min, which is more than --wait-max 15 min 0 s; run "
       "the same "
       "command again then"},
      {{.parked = remains::waiting{}},
       exit_parked,
       "parked: the server asks to wait for ever, which is more than --wait-max 15 min 0 s; run "
       "the "
       "same command again then"},
      {{.parked = broken},
       exit_parked,
       "parked: nothing but failures for longer than --wait-max 15 min 0 s; run the same command "
       "again later"}};
  for (auto const& row : rows) {
    auto const is = conclusion_of(row.left, 15min, now);
    EXPECT_EQ(is.code, row.code) << row.said;
    EXPECT_EQ(is.said, row.said);
  }
}

}  // namespace
}  // namespace headway::app
