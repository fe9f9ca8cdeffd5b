#include "pacing/settle.hpp"

#include <algorithm>

#include "headway/http/classify.hpp"
#include "pacing/impasse.hpp"

namespace headway::app {
namespace {

outcome outcome_of(reaction what, int status) {
  switch (what) {
    case reaction::served:
      return outcome::success;
    case reaction::rate:
    case reaction::concurrency:
    case reaction::quota:
    case reaction::long_quota:
      return outcome::throttle;
    case reaction::transient:
      return outcome::failure;
    case reaction::permanent: {
      if (impasse::refuses_caller(status)) break;     // it may not have got as far as the limit
      auto const by_status = http::classify(status);  // if it throttles, it can never fit
      return by_status == outcome::throttle ? outcome::ignore : by_status;
    }
    case reaction::money:
    case reaction::refused:
      break;
  }
  return outcome::ignore;
}

resource short_of(reaction what) {
  return what == reaction::rate          ? resource::rate
         : what == reaction::concurrency ? resource::concurrency
         : throttles(what)               ? resource::quota
                                         : resource::unknown;
}

/// The quota of which least is left, of those that the book does not keep; where hosts share it, of
/// requests that it keeps, too: the fleet counts for all. What is not counted in
/// requests matters once nothing of it is left.
http::quota const* scarcest(judgement const& told, quota_book const& book, bool hosted) {
  http::quota const* least = nullptr;
  for (auto const& q : told.quotas) {
    if (book.keeps(q) && !(hosted && q.of_requests())) continue;
    if (!q.remaining || !q.reset || (!q.of_requests() && *q.remaining >= 1)) continue;
    if (least == nullptr || *q.remaining < *least->remaining) least = &q;
  }
  return least;
}

}  // namespace

attempt_result lesson_of(judgement const& told, int status, quota_book const& book,
                         duration wait_max, bool hosted) {
  attempt_result taught;
  taught.what = outcome_of(told.what, status);
  taught.short_of = short_of(told.what);
  auto& hold = taught.advice.retry_after;
  hold = told.hold;
  if (auto const* const least = scarcest(told, book, hosted)) {
    taught.advice.remaining = static_cast<std::int64_t>(std::min(*least->remaining, 1e15));
    taught.advice.reset = *least->reset;
    if (told.what == reaction::quota && !hold) hold = *least->reset;
  }
  if (told.what == reaction::long_quota) hold = std::max(hold.value_or(0s), wait_max + 1s);
  return taught;
}

}  // namespace headway::app
