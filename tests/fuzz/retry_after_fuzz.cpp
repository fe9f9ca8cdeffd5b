#include "headway/http/retry_after.hpp"

#include <curl/curl.h>

#include <cstdint>
#include <string>

#include "headway/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(char const* data, std::size_t size) {
  namespace http = headway::http;
  using namespace std::chrono;
  std::string const value(data, size);
  sys_seconds const now = sys_days(year(2024) / 2 / 29);
  auto const wait = http::parse_retry_after(value, now);
  HEADWAY_REQUIRE(!wait || (*wait >= headway::duration::zero() && *wait <= http::wait_max));

  auto const date = http::parse_date(value, now);
  if (!date) return 0;
  HEADWAY_REQUIRE(wait.has_value() == (*date <= now + floor<seconds>(http::wait_max)));
  // libcurl takes more than we do, but what we take it must read as we do; except that it begins in
  // 1583, and puts the year 70 of RFC 850 into the last century whatever the time is.
  bool const two_digit_year = value.find('-') != value.npos;
  if (two_digit_year)
    HEADWAY_REQUIRE(*date <= now + years(50) && *date > now - years(51));
  else if (*date >= sys_days(year(1583) / 1 / 1))
    HEADWAY_REQUIRE(curl_getdate(value.c_str(), nullptr) == date->time_since_epoch().count());
  return 0;
}
