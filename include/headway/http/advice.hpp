/// What the fields of a response say about the limit: how long to wait, and what remains of which
/// quota until when.
///
/// Everything here comes from a server and is taken for hostile: a value that makes no sense is
/// counted and otherwise as if it were absent, and what it could do at most is to make us wait.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headway/export.hpp"
#include "headway/time.hpp"

/// What a response says about the limit.
namespace headway::http {

/// One field of a response; the name in any case. A field that was sent twice comes twice.
struct field {
  std::string_view name;   ///< in any case
  std::string_view value;  ///< as it was sent
};

/// The first value of a field, nullopt where there is none. `name` is in lower case.
HEADWAY_EXPORT std::optional<std::string_view> value_of(std::span<field const>,
                                                        std::string_view name) noexcept;

/// Of one limit: members are absent where the server did not say.
struct HEADWAY_EXPORT quota {
  std::string name;  ///< what it counts, in lower case: "", "requests", "input-tokens", "default"
  std::optional<double> limit{};      ///< units in a period
  std::optional<double> remaining{};  ///< units left
  std::optional<duration> reset{};    ///< from the arrival of the response on
  std::optional<duration> period{};   ///< in which all of it comes back, a part of it all the time

  /// Whether it counts requests, as far as its name says.
  bool of_requests() const noexcept;
};

/// What all fields of a response say together.
struct advice {
  std::optional<duration> retry_after{};  ///< from the arrival of the response on
  std::optional<bool> should_retry{};     ///< the server overrules its own status
  std::vector<quota> quotas{};            ///< at most 16
  int ignored = 0;                        ///< values that made no sense
};

/// The response's Date where it has one, else `now`, to which all times in it are relative.
HEADWAY_EXPORT std::chrono::sys_seconds server_time(std::span<field const>,
                                                    std::chrono::sys_seconds now) noexcept;

/// Reads all of them. `now` is local time.
///
/// Hold: retry-after-ms, else Retry-After, else x-ms-retry-after-ms, else x-amz-retry-after. The
/// longest of a repeated field holds; a decimal and a date merged with a number are accepted, as
/// servers send them. grpc-retry-pushback-ms: negative or junk forbids a retry.
///
/// Quotas: X-RateLimit-*, RateLimit-* and X-Rate-Limit-* with -limit, -remaining, -reset or
/// -reset-after on either side of what they count; the three forms of the IETF's RateLimit field.
/// At most 16 quotas. Source: RFC 9110 §10.2.3; draft-ietf-httpapi-ratelimit-headers-03, -07, -10;
/// the providers' documents of 2026-06, which profiles/ names.
HEADWAY_EXPORT advice advice_of(std::span<field const>, std::chrono::sys_seconds now);

/// When a limit is full again, in whichever way it is written: 1m30s, 374ms (Go); RFC 3339, also
/// without seconds; an HTTP-date; epoch milliseconds from 10^11 on, epoch seconds from 10^9 on,
/// else seconds from now. Zero for the past, saturating; nullopt for anything else.
HEADWAY_EXPORT std::optional<duration> parse_reset(std::string_view,
                                                   std::chrono::sys_seconds server_now) noexcept;

/// 1h2m3.5s, 374ms, 6m0s, 15us: at least one number with its unit. Source: Go's time.ParseDuration.
HEADWAY_EXPORT std::optional<duration> parse_go_duration(std::string_view) noexcept;

/// "… try again in 1m30.5s …": the time that a refusal's text names.
HEADWAY_EXPORT std::optional<duration> time_in_text(std::string_view) noexcept;

/// "… on tokens per min (TPM): Limit 90000, Used 89000 …", "limit of 50,000 input tokens per
/// minute": the quota that a refusal's text names. Of what it does not say that it was used,
/// nothing is left.
HEADWAY_EXPORT std::optional<quota> quota_in_text(std::string_view);

/// "GenerateRequestsPerMinutePerProject", "1/min/{project}": the time that a quota's name has.
HEADWAY_EXPORT std::optional<duration> period_in_name(std::string_view) noexcept;

/// "Limit 30000, Used 27100, Requested 31000": a request that can never fit.
HEADWAY_EXPORT bool never_fits(std::string_view text) noexcept;

}  // namespace headway::http
