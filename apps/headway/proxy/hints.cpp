#include "proxy/hints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <stdexcept>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "pacing/quota_book.hpp"

namespace headway::app::proxy {
namespace {

constexpr double patience_max = 86'400;
constexpr std::size_t name_max = 100;
constexpr duration signature_life = 4min;  // of AWS's five

std::optional<double> number(std::string_view text) noexcept {
  double value = 0;
  auto const [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) ||
      value < 0)
    return std::nullopt;
  return value;
}

std::optional<duration> of_seconds(std::optional<double> seconds) {
  if (!seconds || *seconds > patience_max) return std::nullopt;
  return from_seconds(*seconds);
}

/// "30S", as gRPC writes it.
std::optional<duration> grpc_timeout(std::string_view text) {
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  auto const amount = number(text.substr(0, text.size() - 1));
  if (!amount) return std::nullopt;
  switch (text.back()) {
    case 'H':
      return of_seconds(*amount * 3600);
    case 'M':
      return of_seconds(*amount * 60);
    case 'S':
      return of_seconds(amount);
    case 'm':
      return of_seconds(*amount / 1e3);
    case 'u':
      return of_seconds(*amount / 1e6);
    case 'n':
      return of_seconds(*amount / 1e9);
    default:
      return std::nullopt;
  }
}

/// "ttl=20261122T010203Z; attempt=1; max=3"
std::optional<duration> amz_ttl(std::string_view text, std::chrono::system_clock::time_point now) {
  auto const at = text.find("ttl=");
  if (at == text.npos) return std::nullopt;
  std::string const when(text.substr(at + 4, 16));
  std::tm utc{};
  char const* const end = strptime(when.c_str(), "%Y%m%dT%H%M%SZ", &utc);
  if (end == nullptr || *end != '\0') return std::nullopt;
  auto const left =
      std::chrono::duration<double>(std::chrono::system_clock::from_time_t(timegm(&utc)) - now)
          .count();
  return of_seconds(std::max(left, 0.0));
}

bool is_name(std::string_view text) noexcept {
  return !text.empty() && text.size() <= name_max &&
         std::ranges::none_of(text, [](char c) { return is_control(c); });
}

}  // namespace

std::variant<hints, objection> hints_of(head const& r, std::chrono::system_clock::time_point now) {
  hints h;
  auto const sooner = [&](std::optional<duration> d) {
    if (d) h.patience = std::min(h.patience.value_or(*d), *d);
  };
  for (auto const& field : r.fields) {
    auto const &name = field.name, &value = field.value;
    auto const is = [&](std::string_view other) { return equal_ignoring_case(name, other); };
    auto const wrong = [&](std::string_view want) {
      return objection{400, "hint", fmt::format("{}: want {}", name, want)};
    };
    if (name.size() > 10 && equal_ignoring_case(name.substr(0, 10), "x-headway-")) {
      if (is("x-headway-priority")) {
        auto const found = std::ranges::find(priority_names, value);
        if (found == priority_names.end()) return wrong("interactive, normal or batch");
        h.first = static_cast<priority>(found - priority_names.begin());
      } else if (is("x-headway-deadline")) {
        auto const told = of_seconds(number(value));
        if (!told) return wrong("seconds from 0 to 86400, as 30");
        sooner(told);
      } else if (is("x-headway-cost")) {
        try {
          for (auto rest = value; !rest.empty();) {
            auto const end = std::min(rest.find(','), rest.size());
            h.costs.push_back(parse_amount(trimmed(rest.substr(0, end))));
            rest.remove_prefix(std::min(end + 1, rest.size()));
          }
        } catch (std::invalid_argument const&) {
          return wrong("QUOTA=UNITS, as tokens=350");
        }
        if (h.costs.empty() || h.costs.size() > 16) return wrong("QUOTA=UNITS, as tokens=350");
      } else if (is("x-headway-scope") || is("x-headway-client")) {
        if (!is_name(value)) return wrong("a name of 1 to 100 bytes");
        (is("x-headway-scope") ? h.scope : h.client) = in_utf8(value);
      } else if (is("x-headway-retry")) {
        if (value != "never" && value != "unsafe") return wrong("never or unsafe");
        h.again = value == "never" ? hints::repeat::never : hints::repeat::always;
      }
    } else if (is("x-stainless-timeout") || is("x-stainless-read-timeout") ||
               is("x-server-timeout")) {
      sooner(of_seconds(number(value)));
    } else if (is("grpc-timeout")) {
      sooner(grpc_timeout(value));
    } else if (is("x-envoy-expected-rq-timeout-ms") || is("connect-timeout-ms")) {
      if (auto const ms = number(value)) sooner(of_seconds(*ms / 1e3));
    } else if (is("amz-sdk-request")) {
      sooner(amz_ttl(value, now));
    } else if (is("authorization") && value.starts_with("AWS4-HMAC-")) {
      sooner(signature_life);
    }
  }
  return h;
}

}  // namespace headway::app::proxy
