#include "run/lesson.hpp"

#include <algorithm>
#include <utility>

#include "headway/http/classify.hpp"
#include "run/clock.hpp"

namespace headway::app {
namespace {

constexpr int refused_in_a_row_max = 8;  // that a quota excuses

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

/// The quota of which least is left, of those that the book does not keep. What is not counted in
/// requests matters once nothing of it is left.
http::quota const* scarcest(judgement const& told, quota_book const& book) {
  http::quota const* least = nullptr;
  for (auto const& q : told.quotas) {
    if (book.keeps(q)) continue;
    if (!q.remaining || !q.reset || (!q.of_requests() && *q.remaining >= 1)) continue;
    if (least == nullptr || *q.remaining < *least->remaining) least = &q;
  }
  return least;
}

attempt_result lesson_of(judgement const& told, int status, quota_book const& book,
                         duration wait_max) {
  attempt_result taught;
  taught.what = outcome_of(told.what, status);
  taught.short_of = short_of(told.what);
  auto& hold = taught.advice.retry_after;
  if (taught.what != outcome::success) hold = told.hold;
  if (auto const* const least = scarcest(told, book)) {
    taught.advice.remaining = static_cast<std::int64_t>(std::min(*least->remaining, 1e15));
    taught.advice.reset = *least->reset;
    if (told.what == reaction::quota && !hold) hold = *least->reset;
  }
  if (told.what == reaction::long_quota) hold = std::max(hold.value_or(0s), wait_max + 1s);
  return taught;
}

}  // namespace

judgement judge(request const& r, reply const& answer) {
  if (answer.state != send_state::answered)
    return {.what = answer.too_many ? reaction::rate : reaction::transient};
  auto const broken = !answer.error.empty() && !answer.too_large;
  auto told = r.where->speaks->judge({.status = answer.status,
                                      .fields = answer.fields,
                                      .type = answer.type,
                                      .body = broken ? "" : answer.body},
                                     r.body().value_or(""), wall_now());
  // What broke off proves nothing, whatever its status was, but for a head that says "not now".
  if (broken && !throttles(told.what)) told.what = reaction::transient;
  // Fewer at once will do, as when the server says so.
  if (answer.crowded_out && idempotent(r.what)) told.what = reaction::concurrency;
  return told;
}

std::optional<std::string> joined_body(request const& r, reply const& answer) {
  if (r.so_far.empty() || answer.status / 100 != 2 || !answer.error.empty()) return std::nullopt;
  return r.where->speaks->joined(r.so_far, answer.body);
}

judgement judge_whole(request const& r, reply const& whole, judgement last) {
  if (last.what != reaction::served || last.remainder) return last;
  auto together = r.where->speaks->judge(
      {.status = whole.status, .type = whole.type, .body = whole.body}, {}, wall_now());
  if (together.what == reaction::permanent) {
    last.what = together.what;
    last.code = std::move(together.code);
  }
  return last;
}

attempt_result learn(time_point now, request& r, judgement const& told, reply const& answer,
                     run_options const& options) {
  auto& s = *r.where;
  auto taught = lesson_of(told, answer.status, s.book, options.wait_max);
  // A server may close a kept connection whenever it likes: that says nothing of its limit.
  if (answer.stale && !std::exchange(r.stale, true)) taught.what = outcome::ignore;
  auto const refused = taught.what == outcome::throttle;
  auto const blamed = s.book.settle(
      now, r.receipt, r.size,
      {.quotas = told.quotas, .costs = told.costs, .refused = refused, .hold = told.hold});
  // A server that goes on refusing whatever the book does is the law's, whatever it says.
  s.refused_in_a_row = refused ? s.refused_in_a_row + 1 : 0;
  auto const ours = blamed && s.refused_in_a_row <= refused_in_a_row_max;
  taught.held_elsewhere =
      ours || (!refused && (std::exchange(r.held, false) || s.held.why != reason::none));
  if (ours && told.hold <= options.wait_max) taught.advice = {};  // the book waits for it
  taught.may_retry =
      !answer.futile && told.what != reaction::permanent &&
      (answer.state == send_state::not_sent || idempotent(r.what) || options.retry_unsafe);
  return taught;
}

}  // namespace headway::app
