/// What an HTTP status teaches, where no provider's profile knows better.
#pragma once

#include "headway/outcome.hpp"

namespace headway::http {

/// 429 (RFC 6585 §4) and 503 (RFC 9110 §15.6.4; what nginx, HAProxy and S3 throttle with) say that
/// the request was not carried out, so any method may go again. 408 and every other 5xx say no such
/// thing. A status outside 100..599 counts as 5xx (RFC 9110 §15). All else was served, the 404 and
/// a 200 with Retry-After included: whether the caller likes the answer is another question.
constexpr outcome classify(int status) noexcept {
  if (status == 429 || status == 503) return outcome::throttle;
  if (status == 408 || status >= 500 || status < 100) return outcome::failure;
  return outcome::success;
}

}  // namespace headway::http
