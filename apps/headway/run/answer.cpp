#include "run/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "client/headers.hpp"

namespace headway::app {
namespace {

/// Whether it is a number that names no time of the epoch.
bool is_seconds(std::string_view value) {
  auto const whole = value.substr(0, value.find('.'));
  return !whole.empty() && whole.size() < 10 && std::ranges::all_of(whole, is_digit);
}

}  // namespace

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

reading read_answer(request& r, reply const& answer, time_point now, bool retry_unsafe) {
  reading found{.told = judge(r, answer), .joined = joined_body(r, answer)};
  auto& told = found.told;
  if (found.joined) {
    auto whole = answer;
    whole.body = *found.joined;
    told = judge_whole(r, whole, std::move(told));
  }
  if (told.what == reaction::permanent && r.where->bans(now, answer.status))
    told.what = reaction::rate;
  auto const served = told.what == reaction::served, permanent = told.what == reaction::permanent;
  found.gone = answer.stale && !std::exchange(r.stale, true);
  auto const safe = answer.state == send_state::not_sent || idempotent(r.what) || retry_unsafe;
  found.may_repeat = safe && !answer.futile && !permanent;
  auto const cut_off = answer.state == send_state::answered && !answer.error.empty();
  r.owes = !served && !found.gone &&
           (answer.state == send_state::sent || (cut_off && !throttles(told.what)));
  r.denied = permanent && answer.status / 100 == 2;
  r.said = without_secrets(told.words(), r.headers);
  told.first_ignored = without_secrets(told.first_ignored, r.headers);
  if (!served) found.error = error_of(r, answer);
  return found;
}

std::string long_wait(request const& r, judgement const& told, reply const& answer,
                      duration patience) {
  auto const& resets = r.where->resets();
  // What flies may take what is left.
  auto const is_long = [&](http::quota const& q) {
    return q.remaining.value_or(0) <= r.where->flying() && resets.reset_of(q) > patience;
  };
  std::string text;
  if (told.hold.value_or(0s) <= patience && std::ranges::none_of(told.quotas, is_long)) return text;
  for (auto const& f : answer.fields) {
    auto const name = lower(f.name);
    auto const has = [&](std::string_view part) { return name.find(part) != name.npos; };
    if ((!has("retry-after") && !has("ratelimit") && !has("rate-limit")) || text.size() >= 300)
      continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", printable(f.name),
                        printable(f.value.substr(0, 100)));
    if ((has("reset") || name == "retry-after") && is_seconds(f.value))
      text +=
          has("reset") && resets.any_in_ms() ? " (taken for milliseconds)" : " (taken for seconds)";
  }
  return text;
}

std::string error_of(request const& r, reply const& answer) {
  if (!answer.obstacle.empty()) return std::string(answer.obstacle);
  if (!answer.error.empty()) return std::string(answer.error);
  return fmt::format("status {}{}{}", answer.status, r.said.empty() ? "" : ": ", r.said);
}

}  // namespace headway::app
