/// Classifies an HTTP status if no profile of the provider knows better.
#pragma once

#include "headway/outcome.hpp"

namespace headway::http {

/// Returns what a status says about the limit. 429 (RFC 6585 §4) and 503 (RFC 9110 §15.6.4; the
/// throttle of nginx, HAProxy and S3) say that the request was not carried out, so any method may
/// go again. 408 and all other 5xx do not say so. A status outside 100..599 counts as 5xx (RFC 9110
/// §15). All else was served, also a 404 and a 200 with Retry-After: whether the caller likes the
/// answer is another question.
constexpr outcome classify(int status) noexcept {
  if (status == 429 || status == 503) return outcome::throttle;
  if (status == 408 || status >= 500 || status < 100) return outcome::failure;
  return outcome::success;
}

}  // namespace headway::http
