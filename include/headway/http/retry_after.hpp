/// Parses Retry-After: how long a server asks to be left alone.
///
/// Strict on purpose: a value that RFC 9110 does not allow is no hint, and the caller's own backoff
/// applies. Reads no clock, no locale and no time zone.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "headway/export.hpp"
#include "headway/time.hpp"

namespace headway::http {

/// The longest wait that makes sense. A value that asks for more is a mistake, such as a time in
/// milliseconds or by the clock of another century: it is no hint, wherever it stands.
inline constexpr duration wait_max = std::chrono::hours(366 * 24);

/// Parses an HTTP-date in any of its three forms (IMF-fixdate, RFC 850, asctime), case-sensitive;
/// returns nullopt for anything else. The name of the day must be one, but need not agree with the
/// date. A leap second counts as the second after it. `now` settles the century of RFC 850's
/// two-digit year: the latest one that is at most 50 years ahead. Source: RFC 9110 §5.6.7.
HEADWAY_EXPORT std::optional<std::chrono::sys_seconds> parse_date(
    std::string_view value, std::chrono::sys_seconds now) noexcept;

/// Parses the date-time of a mail, which some servers send in place of an HTTP-date. Its zone is an
/// offset (+0200, +02:00), UTC, Z or one of RFC 5322's names (UT, GMT, EST to PDT); returns nullopt
/// for any other, as two zones may have one name. The day may have one digit and no name, the time
/// no seconds. Case-sensitive. Source: RFC 5322 §3.3, §4.3.
HEADWAY_EXPORT std::optional<std::chrono::sys_seconds> parse_mail_date(
    std::string_view value) noexcept;

/// Returns the wait that a Retry-After field asks for, from the arrival of the response on, or
/// nullopt if the value is malformed or asks for more than wait_max. Returns zero for the past (a
/// caller needs a floor of its own).
///
/// `now` is the instant of the response by the server's clock: the parsed Date field if there is
/// one, else local time. With a skewed local clock alone, a short wait becomes none, or hours.
///
/// Of several fields the longest wait holds: std::max of the results, as nullopt is less than any
/// wait. Source: RFC 9110 §10.2.3 (delay-seconds or HTTP-date).
HEADWAY_EXPORT std::optional<duration> parse_retry_after(std::string_view value,
                                                         std::chrono::sys_seconds now) noexcept;

}  // namespace headway::http
