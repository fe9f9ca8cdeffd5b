/// Hints: what a request tells of itself to us, and of its patience to anybody.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "headway/time.hpp"
#include "provider/quota_units.hpp"
#include "proxy/message.hpp"
#include "proxy/state.hpp"
#include "proxy/strict.hpp"

namespace headway::app::proxy {

struct hints {
  enum class repeat : std::uint8_t {
    safely,  ///< where it was not carried out for sure, or may be carried out twice
    never,
    always,  ///< "unsafe"
  };
  priority first = priority::normal;
  std::optional<duration> patience{};  ///< from its arrival on
  std::vector<quota_units> costs{};
  std::string scope, client;
  repeat again = repeat::safely;
};

/// Reads the X-Headway-* fields, and what SDKs tell of their patience: X-Stainless-Timeout,
/// X-Stainless-Read-Timeout, X-Server-Timeout (Google), grpc-timeout, Connect-Timeout-Ms,
/// x-envoy-expected-rq-timeout-ms, amz-sdk-request. A malformed hint of ours is an
/// objection that names it; one of theirs is passed over.
std::variant<hints, objection> hints_of(head const&, std::chrono::system_clock::time_point now);

}  // namespace headway::app::proxy
