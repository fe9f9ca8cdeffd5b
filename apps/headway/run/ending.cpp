#include "run/ending.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/url.hpp"
#include "base/words.hpp"
#include "client/headers.hpp"
#include "status/canary.hpp"

namespace headway::app {
namespace {

std::string why_failed(request const& r, reply const& answer, decision const& last,
                       run_options const& options) {
  std::string text;
  if (answer.too_large)
    text = fmt::format("the body is longer than {} MiB", options.http.body_max >> 20);
  else if (!answer.obstacle.empty() && !answer.futile)  // the details help
    text = answer.obstacle;
  else if (!answer.error.empty())
    text = answer.error;
  else
    text =
        fmt::format("status {}{}{}", answer.status, r.said.empty() ? "" : ": ", printable(r.said));
  if (answer.state == send_state::not_sent) text += " (not sent)";
  if (last.why == reason::deadline)
    text += fmt::format("; gave up after {}", in_words(options.request_deadline));
  else if (last.why == reason::retry_budget)
    text += "; the retry budget is used up";
  return text;
}

}  // namespace

ending ending_of(request const& r, reply const& answer, outcome taught, decision const& last,
                 run_options const& options) {
  auto const whole = answer.error.empty();
  // An answer to the request itself, even if it teaches nothing, as a 401 does.
  auto const answered = answer.state == send_state::answered && whole &&
                        (taught == outcome::success || taught == outcome::ignore);
  if (answered && !r.denied && options.ok.contains(answer.status))
    return {.how = final_outcome::success};
  auto const carried_out_perhaps =
      (answer.state == send_state::sent ||
       (answer.state == send_state::answered && taught == outcome::failure && !whole)) &&
      !idempotent(r.what);
  // The next attempt would be refused, too.
  return {.how = carried_out_perhaps ? final_outcome::unknown : final_outcome::failed,
          .reason = why_failed(r, answer, last, options),
          .refused_by = answered ? answer.status : 0};
}

bool ended_for_safety(request const& r, reply const& answer, outcome taught, decision const& last,
                      run_options const& options) {
  return taught == outcome::failure && last.why == reason::attempts &&
         answer.state != send_state::not_sent && !idempotent(r.what) && !options.retry_unsafe &&
         r.broken < options.attempts_max;
}

result result_of(request const& r, ending const& e) {
  return {.id = r.what.id,
          .line = r.what.line,
          .url = without_query(r.given_url()),
          .how = e.how,
          .attempts = r.attempts,
          .throttled = r.throttled,
          .reason = e.reason,
          .meta = r.what.meta};
}

result result_of(request const& r, ending const& e, reply const& answer, time_point now) {
  auto all = result_of(r, e);
  all.status = answer.status;
  all.waited = r.sent - r.read;
  all.latency = now - r.sent;
  all.body = answer.body;
  all.type = answer.type;
  all.headers = answer.fields;
  all.name = r.what.name;
  return all;
}

result result_of(job const& j, final_outcome how, std::string_view reason) {
  return {.id = j.id,
          .line = j.line,
          .url = without_query(j.url),
          .how = how,
          .reason = reason,
          .meta = j.meta};
}

std::string why_canary_died(result const& last, std::span<std::string const> headers,
                            bool journal) {
  auto const ascii = std::ranges::all_of(last.body, [](char c) { return (c & 0x80) == 0; });
  return fmt::format(
      "the first {} requests all failed with status {}, such as line {}, whose answer is {}; put "
      "that right and run it again{}; --no-canary goes on regardless",
      canary::watched, last.status, last.line,
      ascii ? in_quotes(without_secrets(last.body.substr(0, 4096), headers)) : "in the results",
      journal ? " with --again failed" : "");
}

}  // namespace headway::app
