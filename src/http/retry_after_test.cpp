#include "headway/http/retry_after.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

namespace headway::http {
namespace {

using std::chrono::sys_seconds;
using namespace std::chrono;

constexpr auto rejected = std::nullopt;

constexpr sys_seconds at(int y, unsigned m, unsigned d, int hh = 0, int mm = 0, int ss = 0) {
  return sys_days(year(y) / month(m) / day(d)) + hours(hh) + minutes(mm) + seconds(ss);
}

TEST(retry_after, table) {
  constexpr auto new_year = at(1999, 12, 31, 23, 59, 57);
  constexpr auto june = at(2019, 6, 3, 11);
  struct {
    std::string_view value;
    std::optional<duration> wait;
    sys_seconds now = at(2019, 6, 3, 11);
  } const rows[] = {
      {"0", 0s},
      {"120", 120s},
      {"1000", 1000s},
      {"0000000000000000000000007", 7s},
      {"\t42 ", 42s},
      {"31622400", wait_max},
      {"31622401", rejected},
      {"9223372037", rejected},
      {"9223372036854775807", rejected},
      {"9223372036854775808", rejected},
      {"1000000000000000000000000000000", rejected},
      {"", rejected},
      {" \t ", rejected},
      {"-1", rejected},
      {"+1", rejected},
      {"1.0", rejected},
      {"64.57", rejected},
      {"1e3", rejected},
      {"0x10", rejected},
      {"\u00b2", rejected},
      {"\u0661", rejected},
      {"2, 3", rejected},
      {"1 2", rejected},
      {"42\v", rejected},
      {"badbadbad", rejected},
      {"Fri, 31 Dec 1999 23:59:59 GMT", 2s, new_year},
      {"\tFri, 31 Dec 1999 23:59:59 GMT ", 2s, new_year},
      {"Friday, 31-Dec-99 23:59:59 GMT", 2s, new_year},
      {"Fri Dec 31 23:59:59 1999", 2s, new_year},
      {"Fri, 31 Dec 1999 23:59:60 GMT", 3s, new_year},
      {"Sun, 06 Nov 1994 08:49:37 GMT", 0s, new_year},
      {"Sat, 01 Jan 1600 00:00:00 GMT", 0s, new_year},
      {"Mon, 03 Jun 2019 11:30:12 GMT", 1812s, june},
      {"Monday, 03-Jun-19 11:30:12 GMT", 1812s, june},
      {"Mon Jun  3 11:30:12 2019", 1812s, june},
      {"Mon Jun 03 11:30:12 2019", 1812s, june},
      {"Wed, 03 Jun 2020 11:00:00 GMT", wait_max, june},
      {"Wed, 03 Jun 2020 11:00:01 GMT", rejected, june},
      {"Fri, 31 Dec 9999 23:59:59 GMT", rejected, june},
      {"Fri, 32 Dec 1999 23:59:59 GMT", rejected},
      {"Fri, 00 Dec 1999 23:59:59 GMT", rejected},
      {"Fri, 29 Feb 2019 23:59:59 GMT", rejected},
      {"Fri, 31 Dec 1999 24:00:00 GMT", rejected},
      {"Fri, 31 Dec 1999 23:60:59 GMT", rejected},
      {"Fri, 31 Dec 1999 23:59:61 GMT", rejected},
      {"Mon, 3 Jun 2019 12:00:00 GMT", rejected},
      {"Mon, 03 Jun 2019 12:00:00 UTC", rejected},
      {"Mon, 03 Jun 2019 12:00:00 gmt", rejected},
      {"mon, 03 Jun 2019 12:00:00 GMT", rejected},
      {"Mon, 03 JUN 2019 12:00:00 GMT", rejected},
      {"Mon, 03 Jun 2019 12:00:00", rejected},
      {"Mon, 03 Jun 2019 12:00:00 GMT, 45", rejected},
      {"Mon, 03 Jun 19 12:00:00 GMT", rejected},
      {"Mon,03 Jun 2019 12:00:00 GMT", rejected},
      {"Mon,  03 Jun 2019 12:00:00 GMT", rejected},
      {"Mon, 03-Jun-19 12:00:00 GMT", rejected},
      {"Monday, 03 Jun 2019 12:00:00 GMT", rejected},
      {"Monday, 03-Jun-2019 12:00:00 GMT", rejected},
      {"Mon Jun 3 12:00:00 2019", rejected},
      {"Mon Jun  3 12:00:00 2019 GMT", rejected},
      {"2019-06-03T12:00:00Z", rejected},
  };
  for (auto const& row : rows)
    EXPECT_EQ(parse_retry_after(row.value, row.now), row.wait) << row.value;
}

TEST(retry_after, longest_of_several_fields_holds) {
  auto const now = at(2019, 6, 3);
  EXPECT_EQ(std::max(parse_retry_after("2", now), parse_retry_after("3", now)), 3s);
  EXPECT_EQ(std::max(parse_retry_after("2", now), parse_retry_after("junk", now)), 2s);
}

TEST(retry_after, time_zone_of_the_process_does_not_matter) {
  char const* const before = std::getenv("TZ");
  std::string const kept = before ? before : "";
  for (auto const* zone : {"UTC", "Asia/Kathmandu", "XYZ+11:30"}) {
    setenv("TZ", zone, 1);
    tzset();
    EXPECT_EQ(parse_retry_after("Mon Jun  3 11:30:12 2019", at(2019, 6, 3, 11)), 1812s) << zone;
  }
  before ? setenv("TZ", kept.c_str(), 1) : unsetenv("TZ");
  tzset();
}

TEST(date, epoch_seconds) {
  struct {
    std::string_view value;
    std::int64_t epoch;
  } const rows[] = {
      {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
      {"Wed, 31 Dec 1969 23:59:59 GMT", -1},
      {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777},
      {"Sun Nov  6 08:49:37 1994", 784111777},
      {"Mon, 06 Nov 1994 08:49:37 GMT", 784111777},  // not a Monday: the date decides
      {"Fri, 31 Dec 1999 23:59:59 GMT", 946684799},
      {"Tue, 29 Feb 2000 00:00:00 GMT", 951782400},
      {"Tue, 19 Jan 2038 03:14:08 GMT", 2147483648},
      {"Mon, 01 Mar 2100 00:00:00 GMT", 4107542400},
      {"Mon, 01 Jan 0001 00:00:00 GMT", -62135596800},
  };
  for (auto const& row : rows) {
    auto const date = parse_date(row.value, at(2019, 6, 3));
    ASSERT_TRUE(date) << row.value;
    EXPECT_EQ(date->time_since_epoch().count(), row.epoch) << row.value;
  }
}

TEST(mail_date, zones_and_short_forms) {
  struct {
    std::string_view value;
    std::optional<sys_seconds> when = rejected;
  } const rows[] = {
      {"Mon, 30 Nov 2026 04:13:24 +0200", at(2026, 11, 30, 2, 13, 24)},
      {"Mon, 30 Nov 2026 04:13:24 -0330", at(2026, 11, 30, 7, 43, 24)},
      {"Mon, 30 Nov 2026 04:13:24 +02:00", at(2026, 11, 30, 2, 13, 24)},
      {"Mon, 30 Nov 2026 04:13:24 -0000", at(2026, 11, 30, 4, 13, 24)},
      {"Mon, 30 Nov 2026 04:13:24 GMT", at(2026, 11, 30, 4, 13, 24)},
      {"Mon, 30 Nov 2026 04:13:24 UT", at(2026, 11, 30, 4, 13, 24)},
      {"Mon, 30 Nov 2026 04:13:24 UTC", at(2026, 11, 30, 4, 13, 24)},
      {"Mon, 30 Nov 2026 04:13:24 Z", at(2026, 11, 30, 4, 13, 24)},
      {"Mon, 30 Nov 2026 04:13:24 EST", at(2026, 11, 30, 9, 13, 24)},
      {"Mon, 30 Nov 2026 04:13:24 EDT", at(2026, 11, 30, 8, 13, 24)},
      {"Mon, 30 Nov 2026 04:13:24 CST", at(2026, 11, 30, 10, 13, 24)},
      {"Mon, 30 Nov 2026 04:13:24 CDT", at(2026, 11, 30, 9, 13, 24)},
      {"Mon, 30 Nov 2026 04:13:24 MST", at(2026, 11, 30, 11, 13, 24)},
      {"Mon, 30 Nov 2026 04:13:24 MDT", at(2026, 11, 30, 10, 13, 24)},
      {"Mon, 30 Nov 2026 04:13:24 PST", at(2026, 11, 30, 12, 13, 24)},
      {"Mon, 30 Nov 2026 04:13:24 PDT", at(2026, 11, 30, 11, 13, 24)},
      {"3 Jun 2019 04:13 +0000", at(2019, 6, 3, 4, 13)},
      {"\t3 Jun 2019 04:13 +0000 ", at(2019, 6, 3, 4, 13)},
      {"Fri, 31 Dec 9999 23:59:60 -2359", at(10000, 1, 1, 23, 59, 0)},
      {"Sat, 01 Jan 0000 00:00:00 +2359", at(-1, 12, 31, 0, 1)},
      {"Mon, 30 Nov 2026 04:13:24"},
      {"Mon, 30 Nov 2026 04:13:24 "},
      {"Mon, 30 Nov 2026 04:13:24 CET"},
      {"Mon, 30 Nov 2026 04:13:24 A"},
      {"Mon, 30 Nov 2026 04:13:24 ESTX"},
      {"Mon, 30 Nov 2026 04:13:24 est"},
      {"Mon, 30 Nov 2026 04:13:24 0200"},
      {"Mon, 30 Nov 2026 04:13:24 +2400"},
      {"Mon, 30 Nov 2026 04:13:24 +0260"},
      {"Mon, 30 Nov 2026 04:13:24 +02"},
      {"Mon, 30 Nov 2026 04:13:24 +02:00, 5"},
      {"Mon, 30 Nov 26 04:13:24 +0200"},
      {"Mon, 31 Nov 2026 04:13:24 +0200"},
      {"Mon, 0 Nov 2026 04:13:24 +0200"},
      {"Mon, 030 Nov 2026 04:13:24 +0200"},
      {"Monday, 30 Nov 2026 04:13:24 +0200"},
      {"30"},
      {""},
  };
  for (auto const& row : rows) EXPECT_EQ(parse_mail_date(row.value), row.when) << row.value;
}

TEST(date, two_digit_year_is_the_latest_at_most_fifty_years_ahead) {
  struct {
    std::string_view value;
    sys_seconds now;
    int year;
  } const rows[] = {
      {"Sunday, 06-Nov-94 08:49:37 GMT", at(1994, 1, 1), 1994},
      {"Sunday, 06-Nov-94 08:49:37 GMT", at(2019, 6, 3), 1994},
      {"Sunday, 06-Nov-94 08:49:37 GMT", at(2045, 1, 1), 2094},
      {"Monday, 03-Jun-03 12:00:00 GMT", at(1999, 12, 31), 2003},
      {"Monday, 03-Jun-69 12:00:00 GMT", at(2019, 6, 2), 1969},
      {"Monday, 03-Jun-69 12:00:00 GMT", at(2019, 6, 5), 2069},
      {"Monday, 03-Jun-70 12:00:00 GMT", at(2019, 6, 5), 1970},
      {"Tuesday, 29-Feb-00 12:00:00 GMT", at(2019, 6, 5), 2000},
  };
  for (auto const& row : rows) {
    auto const date = parse_date(row.value, row.now);
    ASSERT_TRUE(date) << row.value;
    EXPECT_EQ(int(year_month_day(floor<days>(*date)).year()), row.year) << row.value;
  }
}

}  // namespace
}  // namespace headway::http
