#include "run/answer.hpp"

#include <utility>

#include "base/clock.hpp"

namespace headway::app {

judgement judge(request const& r, reply const& answer) {
  if (answer.state != send_state::answered)
    return {.what = answer.too_many ? reaction::rate : reaction::transient};
  auto const broken = !answer.error.empty() && !answer.too_large;
  auto told = r.where->speaks().judge({.status = answer.status,
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

std::optional<judgement> judge_head(request const& r, reply const& so_far) {
  return r.where->speaks().judge_head(
      {.status = so_far.status, .fields = so_far.fields, .type = so_far.type, .body = so_far.body},
      wall_now());
}

std::optional<std::string> joined_body(request const& r, reply const& answer) {
  if (r.so_far.empty() || answer.status / 100 != 2 || !answer.error.empty()) return std::nullopt;
  return r.where->speaks().joined(r.so_far, answer.body);
}

judgement judge_whole(request const& r, reply const& whole, judgement last) {
  if (last.what != reaction::served || last.remainder) return last;
  auto together = r.where->speaks().judge(
      {.status = whole.status, .type = whole.type, .body = whole.body}, {}, wall_now());
  if (together.what == reaction::permanent) {
    last.what = together.what;
    last.code = std::move(together.code);
  }
  return last;
}

}  // namespace headway::app
