/// Reads the fields of a response about the limit: how long to wait, and how much of which quota
/// remains until when.
///
/// All input comes from a server and counts as hostile: a value that makes no sense, such as a time
/// beyond wait_max, is counted and otherwise treated as absent. The most that any value can do is
/// to make us wait.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headway/export.hpp"
#include "headway/time.hpp"

/// The reading of answers: their advice about the limit.
namespace headway::http {

/// One field of a response, its name in any case. A field that was sent twice comes twice.
struct field {
  std::string_view name;   ///< in any case
  std::string_view value;  ///< as it was sent
};

/// Returns the first value of a field, or nullopt. `name` is in lower case.
HEADWAY_EXPORT std::optional<std::string_view> value_of(std::span<field const>,
                                                        std::string_view name) noexcept;

/// Units of a limit, where the server says so in so many words (the `qu` of a policy).
enum class counted : std::uint8_t { unsaid, requests, bytes, concurrent, other };

/// State of one limit; a member that the server did not send is absent.
struct HEADWAY_EXPORT quota {
  std::string name;  ///< what it counts, in lower case: "", "requests", "input-tokens", "default"
  std::optional<double> limit{};      ///< units in a period
  std::optional<double> remaining{};  ///< units left
  std::optional<duration> reset{};    ///< from the arrival of the response on
  std::optional<duration> period{};   ///< time in which all of it refills, continuously
  std::optional<duration> window{};   ///< a policy's: at most `limit` units in each
  counted counts = counted::unsaid;   ///< units
  std::string partition{};            ///< key of the part of the callers that it is for; "": none

  /// Returns whether it counts requests: as is said, else as far as its name says.
  bool of_requests() const noexcept;
};

/// Advice of all fields of a response together.
struct advice {
  std::optional<duration> retry_after{};  ///< from the arrival of the response on
  std::optional<bool> should_retry{};     ///< the server overrules its own status
  std::vector<quota> quotas{};            ///< at most 16
  /// Values that made no sense, and Retry-Afters that are dates a minute ago or more: these make
  /// `retry_after` zero.
  int ignored = 0;
  std::optional<field> first_ignored{};  ///< the field of the first of them; views as the caller's
};

/// Returns the Date of the response, or `now` without one; all times in it are relative to this.
HEADWAY_EXPORT std::chrono::sys_seconds server_time(std::span<field const>,
                                                    std::chrono::sys_seconds now) noexcept;

/// Parses an instant, in any notation that names just one: as parse_date(), parse_mail_date(), or
/// RFC 3339. `now` as for parse_date().
HEADWAY_EXPORT std::optional<std::chrono::sys_seconds> parse_instant(
    std::string_view, std::chrono::sys_seconds now) noexcept;

/// Reads all fields that speak of a limit. `now` is local time.
///
/// Hold: retry-after-ms, else Retry-After, else x-ms-retry-after-ms, else x-amz-retry-after. The
/// longest of a repeated field holds; a decimal, an instant in any notation and a date merged with
/// a number are accepted, as servers send them. grpc-retry-pushback-ms: negative or junk forbids a
/// retry.
///
/// Of a limit that is told twice, the least `limit` and `remaining` and the longest reset hold.
///
/// Quotas: X-RateLimit-*, RateLimit-* and X-Rate-Limit-* with -limit, -remaining, -reset or
/// -reset-after on either side of what they count; the three forms of the IETF's RateLimit field,
/// and those of RateLimit-Policy, in which `qu` absent means requests unless the name says
/// otherwise. A policy that is not named like a RateLimit beside it has no `remaining`. At most 16
/// quotas. Source: RFC 9110 §10.2.3; draft-ietf-httpapi-ratelimit-headers-03, -07, -11; the
/// documents of 2026-06 that profiles/ names.
HEADWAY_EXPORT advice advice_of(std::span<field const>, std::chrono::sys_seconds now);

/// Parses the time until a limit is full again, in any notation: 1m30s, 374ms (Go); RFC 3339, also
/// without seconds; a date; epoch milliseconds from 10^11 on, epoch seconds from 10^9 on,
/// else seconds from now. Returns zero for the past, and nullopt for anything else or beyond
/// wait_max.
HEADWAY_EXPORT std::optional<duration> parse_reset(std::string_view,
                                                   std::chrono::sys_seconds server_now) noexcept;

/// Parses 1h2m3.5s, 374ms, 6m0s, 15us: at least one number with its unit, at most wait_max in all.
/// Source: Go's time.ParseDuration.
HEADWAY_EXPORT std::optional<duration> parse_go_duration(std::string_view) noexcept;

/// Finds the wait that the text of a refusal names: "… try again in 1m30.5s …", "retry after 3
/// seconds", "available in 52 s", "wait for 2 minutes".
HEADWAY_EXPORT std::optional<duration> time_in_text(std::string_view);

/// Finds the quotas that the text of a refusal names, one for each thing that is counted, at most
/// four: "… on tokens per min (TPM): Limit 90000, Used 89000 …", "limit of 50,000 input tokens per
/// minute", "100 requests per 10 seconds", "600 RPM and 180000 TPM", "20 per minute". In the words
/// of the first two nothing is left if the text says nothing of use; the others are ceilings, with
/// a `window` and no `remaining`. Looks at the first 4 KiB.
HEADWAY_EXPORT std::vector<quota> quotas_in_text(std::string_view);

/// Finds the period in the name of a quota: "GenerateRequestsPerMinutePerProject",
/// "1/min/{project}".
HEADWAY_EXPORT std::optional<duration> period_in_name(std::string_view) noexcept;

/// Returns whether the text refuses a request that can never fit: "Limit 30000, Used 27100,
/// Requested 31000".
HEADWAY_EXPORT bool never_fits(std::string_view text) noexcept;

}  // namespace headway::http
