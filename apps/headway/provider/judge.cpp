#include "provider/judge.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "headway/http/classify.hpp"
#include "headway/http/retry_after.hpp"
#include "provider/costs.hpp"
#include "provider/event_stream.hpp"
#include "provider/json_pointer.hpp"
#include "provider/remainder.hpp"
#include "provider/too_many.hpp"

namespace headway::app {

namespace {

namespace dom = simdjson::dom;

/// The limit that a refusal names by these pointers, of which nothing is left: Google's quotaValue
/// and quotaId.
std::optional<http::quota> limit_in(dom::element json, rule const& r) {
  std::vector<dom::element> limits, names;
  reach(json, r.limit, limits);
  reach(json, r.limit_name, names);
  std::string_view name;
  if (limits.empty() || names.empty() || names.front().get(name) != simdjson::SUCCESS)
    return std::nullopt;
  auto const text = text_of(limits.front()).value_or("");
  double limit = 0;
  auto const* const last = text.data() + text.size();
  auto const period = http::period_in_name(name);
  if (std::from_chars(text.data(), last, limit).ptr != last || !(limit >= 1) || !period)
    return std::nullopt;
  auto const counted = lower(name);
  auto const has = [&](std::string_view part) { return counted.find(part) != counted.npos; };
  return http::quota{.name = !has("token")   ? "requests"
                             : has("input")  ? "input-tokens"
                             : has("output") ? "output-tokens"
                                             : "tokens",
                     .limit = limit,
                     .remaining = 0,
                     .reset = period,
                     .period = period};
}

std::optional<http::quota> quota_in(dom::element json, quota_rule const& rule) {
  auto const limit = sum_of(json, {rule.limit});
  auto const remaining = sum_of(json, {rule.remaining});
  auto const restore = sum_of(json, {rule.restore});
  if (!limit || !remaining || !restore || !(*limit >= 1) || !(*restore > 0)) return std::nullopt;
  if (!(*limit / *restore <= to_seconds(http::wait_max))) return std::nullopt;
  auto const left = std::min(*remaining, *limit);
  return http::quota{.name = rule.name,
                     .limit = limit,
                     .remaining = left,
                     .reset = from_seconds((*limit - left) / *restore),
                     .period = from_seconds(*limit / *restore)};
}

std::optional<std::string> xml_text(std::string_view body, std::string_view element) {
  auto const open = fmt::format("<{}>", element);
  auto const begin = body.find(open);
  if (begin == body.npos) return std::nullopt;
  auto const text = body.substr(begin + open.size());
  auto const end = text.find('<');
  if (end > 200) return std::nullopt;  // or there is none
  return std::string(text.substr(0, end));
}

/// The status that the error of a stream names: one that failed.
std::optional<int> status_in(dom::element error) {
  dom::element code;
  if (error.at_pointer("/error/code").get(code) != simdjson::SUCCESS) return std::nullopt;
  auto const text = text_of(code).value_or("");
  int status = 0;
  auto const* const last = text.data() + text.size();
  if (std::from_chars(text.data(), last, status).ptr != last || status < 400 || status > 599)
    return std::nullopt;
  return status;
}

/// What the error of a stream says to people.
std::string message_in(dom::element error) {
  for (auto const* const pointer : {"/error/message", "/message", "/error"})
    if (dom::element e; error.at_pointer(pointer).get(e) == simdjson::SUCCESS)
      if (auto text = text_of(e)) return *std::move(text);
  return "";
}

/// A protobuf Duration ("19s", "3.700s"), or a number or text as parse_reset() reads them.
std::optional<duration> hold_of(dom::element e, std::chrono::sys_seconds now) {
  if (double n = 0; e.get(n) == simdjson::SUCCESS)
    return http::parse_reset(fmt::format("{:.6f}", std::max(n, 0.0)), now);
  std::string_view text;
  if (e.get(text) != simdjson::SUCCESS) return std::nullopt;
  return http::parse_reset(text, now);
}

bool good(int status) noexcept {
  return status >= 200 && status <= 299;
}

bool is_stream(answer_view const& a) noexcept {
  return a.type.starts_with("text/event-stream");
}

/// Whether `r` is about such answers; without a status it is about all that are no successes.
bool is_about(rule const& r, int status, bool failed_stream) noexcept {
  if (r.status.empty()) return !good(status) || failed_stream;
  return std::ranges::any_of(
      r.status, [&](status_range const& s) { return status >= s.from && status <= s.to; });
}

bool lists(rule const& r, std::string_view text) {
  if (!r.in.empty() && std::ranges::none_of(r.in, [&](auto const& one) { return one == text; }))
    return false;
  return r.contains.empty() || std::ranges::any_of(r.contains, [&](auto const& part) {
           return text.find(part) != text.npos;
         });
}

/// Whether `r` looks at no more than status and fields.
bool by_head(rule const& r) noexcept {
  return r.pointer.empty() && r.xml.empty() && !r.header.empty();
}

/// What decides what an answer is.
struct evidence {
  rule const* fits;                  // the profile's first rule that does; null: none
  bool broken_stream;                // an error among the events of a good status
  int status;                        // that this error names, else the answer's
  std::optional<bool> should_retry;  // x-should-retry
  bool names_a_time;                 // Retry-After and its like
  bool nothing_left;                 // of a quota whose reset is told
  std::string_view body;
};

std::optional<reaction> if_so(bool so, reaction then) {
  return so ? std::optional(then) : std::nullopt;
}

struct sign {
  std::string_view what;  // for the reader
  std::optional<reaction> (*says)(evidence const&);
};
/// The first that says something decides.
constexpr sign precedence[] = {
    {"the profile's rule",
     [](evidence const& e) { return e.fits ? std::optional(e.fits->means) : std::nullopt; }},
    {"an error event in a stream",
     [](evidence const& e) {
       return if_so(e.broken_stream && good(e.status), reaction::transient);
     }},
    {"a status that throttles",
     [](evidence const& e) {
       return if_so(http::classify(e.status) == outcome::throttle, reaction::rate);
     }},
    {"a failure that says when to come back: the server wants to be left alone",
     [](evidence const& e) { return if_so(e.names_a_time && e.status >= 500, reaction::rate); }},
    {"529, by which Anthropic, Notion and others mean an overload",
     [](evidence const& e) { return if_so(e.status == 529, reaction::concurrency); }},
    {"x-should-retry, of what is no success",
     [](evidence const& e) -> std::optional<reaction> {
       if (!e.should_retry || good(e.status)) return std::nullopt;
       return *e.should_retry ? reaction::transient : reaction::permanent;
     }},
    {"a 4xx that says when to come back, as GitHub's 403 of the secondary limit and many others",
     [](evidence const& e) { return if_so(may_pass(e.status) && e.names_a_time, reaction::rate); }},
    {"a 403 of a quota that is used up",
     [](evidence const& e) { return if_so(e.status == 403 && e.nothing_left, reaction::quota); }},
    {"a 4xx in words of a limit; a 400's may be the request's own, that it names what is wrong "
     "with",
     [](evidence const& e) {
       bool const tells = may_pass(e.status) && e.status != 400 && says_too_many_now(e.body);
       return if_so(tells, reaction::rate);
     }},
    {"a status that failed",
     [](evidence const& e) {
       return if_so(http::classify(e.status) == outcome::failure, reaction::transient);
     }},
    {"a good status", [](evidence const& e) { return if_so(good(e.status), reaction::served); }},
};

reaction decide(evidence const& e) {
  auto what = reaction::permanent;
  for (auto const& s : precedence)
    if (auto const said = s.says(e)) {
      what = *said;
      break;
    }
  auto const in_vain = what == reaction::transient && e.should_retry == false;
  return in_vain ? reaction::permanent : what;
}

/// What made no sense, and by which clock where only the clock says so.
std::string words_of(http::field const& f, bool dated, std::chrono::sys_seconds now) {
  constexpr auto year = std::chrono::duration_cast<std::chrono::seconds>(http::wait_max);
  auto text = fmt::format("{}: {}", f.name.substr(0, 64), f.value.substr(0, 100));
  auto const at = http::parse_instant(f.value, now);
  if (at && *at < now && now - *at <= year)  // one of another year speaks for itself
    text += fmt::format(" ({} {})", in_words(now - *at),
                        dated ? "before the answer's Date" : "ago by this host's clock");
  return text;
}

/// One answer under the rules; its body is parsed once, if at all.
class reading {
 public:
  reading(profile_rules const& rules, answer_view const& a, std::chrono::sys_seconds now)
      : rules_(rules),
        answer_(a),
        now_(http::server_time(a.fields, now)),
        told_(http::advice_of(a.fields, now)),
        status_(a.status) {
    // What a partial success leaves undone is never overlooked, however long its answer is.
    whole_ = good(a.status) && std::ranges::any_of(rules.list, [&](rule const& r) {
               return r.partial() && may_have(a.body, r.pointer);
             });
    body_ = whole_ ? a.body : a.body.substr(0, body_looked_at);
    if (!good(a.status) || !is_stream(a)) return;
    error_ = error_in_stream(a.body);
    if (!error_) return;
    body_ = *error_;
    message_ = body_;
    if (!is_json()) return;
    status_ = status_in(json_).value_or(a.status);
    message_ = message_in(json_);
  }

  judgement judge(std::string_view request_body) {
    judgement j;
    j.ignored = told_.ignored;
    if (auto const& f = told_.first_ignored)
      j.first_ignored = words_of(*f, http::value_of(answer_.fields, "date").has_value(), now_);
    j.quotas = std::move(told_.quotas);
    j.in_fields = j.quotas.size();
    find_rule(j.code);
    j.message = message_.substr(0, 200);
    if (is_on_each_answer(j.quotas)) told_.retry_after.reset();
    j.what = decide({.fits = by_,
                     .broken_stream = error_.has_value(),
                     .status = status_,
                     .should_retry = told_.should_retry,
                     .names_a_time = told_.retry_after.has_value(),
                     .nothing_left = std::ranges::any_of(
                         j.quotas, [](auto const& q) { return used_up(q) && q.reset; }),
                     .body = body_});
    read_hold(j);
    read_limits(j);
    read_costs(j);
    read_remainder(j, request_body);
    return j;
  }

 private:
  void find_rule(std::string& code) {
    for (auto const& r : rules_.list)
      if (fits(r, code)) {
        by_ = &r;
        return;
      }
    code.clear();
  }

  /// Whether all conditions of `r` hold; `code` is what the server called it then.
  bool fits(rule const& r, std::string& code) {
    if (!is_about(r, answer_.status, error_.has_value()) &&
        !is_about(r, status_, error_.has_value()))
      return false;
    if (!r.header.empty()) {
      auto const value = http::value_of(answer_.fields, r.header);
      if (!value) return false;
      if (by_head(r)) {
        if (!lists(r, *value)) return false;
        code = std::string(value->substr(0, 100));
        return true;
      }
    }
    if (!r.pointer.empty()) return fits_json(r, code);
    if (!r.xml.empty()) {
      auto const text = xml_text(body_, r.xml);
      if (!text || !lists(r, *text)) return false;
      code = *text;
      return true;
    }
    return r.header.empty() ? lists(r, body_) : true;
  }

  bool fits_json(rule const& r, std::string& code) {
    if (!is_json()) return false;
    std::vector<dom::element> found;
    reach(json_, r.pointer, found);
    for (auto const e : found) {
      auto const text = text_of(e);
      if (!text) continue;
      // AWS: "com.amazonaws.dynamodb.v20120810#ThrottlingException"
      auto const plain = text->find('#') == text->npos ? *text : text->substr(text->find('#') + 1);
      if (!lists(r, *text) && !lists(r, plain)) continue;
      code = plain.substr(0, 100);
      return true;
    }
    return false;
  }

  bool is_json() {
    if (!std::exchange(parsed_, true)) {
      auto const text = trimmed(without_mark(body_), " \t\r\n");
      is_json_ = (whole_ || error_ || answer_.body.size() <= body_looked_at) &&
                 (text.starts_with('{') || text.starts_with('[')) &&
                 parse_leniently(parser(), body_, leniency::all, json_).empty();
    }
    return is_json_;
  }
  static dom::parser& parser() {
    thread_local dom::parser one;
    return one;
  }

  bool refuses() const noexcept { return !good(answer_.status) || error_ || by_ != nullptr; }

  static bool used_up(http::quota const& q) noexcept {
    return q.remaining && *q.remaining < 1 && q.limit.value_or(1) >= 1;
  }

  /// Whether Retry-After says nothing of this refusal, as slowapi's. GitHub's 403s mean it.
  bool is_on_each_answer(std::vector<http::quota> const& quotas) const {
    return may_pass(status_) && status_ != 403 && std::ranges::none_of(quotas, used_up) &&
           std::ranges::any_of(quotas, [](auto const& q) { return q.remaining >= 1; });
  }

  /// From the field, else from the rule, else from the text. A success's Retry-After is when to ask
  /// for a result, or a proxy adds it to every answer: alone it says nothing of a limit.
  void read_hold(judgement& j) {
    if (by_ != nullptr && !by_->hold_pointer.empty() && is_json()) {
      std::vector<dom::element> found;
      reach(json_, by_->hold_pointer, found);
      for (auto const e : found) j.hold = std::max(j.hold, hold_of(e, now_));
    }
    if (by_ != nullptr && by_->hold) j.hold = std::max(j.hold.value_or(0s), *by_->hold);
    if (told_.retry_after && (refuses() || std::ranges::any_of(j.quotas, used_up)))
      j.hold = told_.retry_after;
    if (refuses() && throttles(j.what) && !j.hold) j.hold = http::time_in_text(body_);
  }

  void read_limits(judgement& j) {
    if (refuses() && throttles(j.what)) {
      auto limits = http::quotas_in_text(body_);
      if (by_ != nullptr && !by_->limit.empty() && is_json()) {
        limits.clear();
        if (auto limit = limit_in(json_, *by_)) limits.push_back(std::move(*limit));
      }
      // What fields say is more exact.
      for (auto& limit : limits)
        if (std::ranges::none_of(j.quotas, [&](auto const& q) { return q.name == limit.name; }))
          j.quotas.push_back(std::move(limit));
      if (http::never_fits(body_.substr(0, 4096))) j.what = reaction::permanent;
    }
    for (auto const& q : rules_.quotas)
      if (may_have(body_, q.limit) && is_json())
        if (auto told_here = quota_in(json_, q)) j.quotas.push_back(std::move(*told_here));
  }

  void read_costs(judgement& j) {
    if (!good(answer_.status) || error_) return;
    j.costs = costs_by(rules_.costs);
    j.usage = costs_by(rules_.usage);
    for (auto const& p : rules_.prices) add_price(j.usage, p);
  }

  std::vector<settled_cost> costs_by(std::vector<cost_rule> const& rules) {
    if (is_stream(answer_)) return costs_in_stream(answer_.body, rules);
    if (may_tell_costs(body_, rules) && is_json()) return costs_in(json_, body_, rules);
    return {};
  }

  void read_remainder(judgement& j, std::string_view request_body) {
    if (by_ == nullptr || !by_->partial() || !is_json()) return;
    std::optional<remainder> again;
    dom::element rest;
    if (by_->bulk)
      again = refused_operations(request_body, body_, by_->in);
    else if (json_.at_pointer(by_->remainder).get(rest) == simdjson::SUCCESS)
      again =
          with_member(request_body, by_->into, compact(written_at(json_, body_, by_->remainder)));
    if (again && again->share <= 0.75) j.what = reaction::served;
    if (again) j.remainder = std::move(again->body);
    if (by_->bulk && !again) j.what = reaction::permanent;  // the rest would be done twice
  }

  profile_rules const& rules_;
  answer_view const& answer_;
  std::chrono::sys_seconds now_;  // by the server's clock
  http::advice told_;
  int status_;
  bool whole_ = false;
  std::optional<std::string> error_;  // of a stream of a good status
  std::string message_;
  std::string_view body_;     // as far as it is looked at
  rule const* by_ = nullptr;  // the one that fits
  bool parsed_ = false, is_json_ = false;
  dom::element json_;
};

}  // namespace

judgement judge(profile_rules const& rules, answer_view const& a, std::string_view request_body,
                std::chrono::sys_seconds now) {
  return reading(rules, a, now).judge(request_body);
}

std::optional<judgement> judge_head(profile_rules const& rules, answer_view const& a,
                                    std::chrono::sys_seconds now) {
  if (!good(a.status)) return std::nullopt;
  auto head = a;
  if (is_stream(a)) {
    auto const whole_events = std::max(a.body.rfind("\n\n") + 1, a.body.rfind("\n\r\n") + 1);
    if (whole_events == 0) return std::nullopt;
    head.body = a.body.substr(0, whole_events);
  }
  for (auto const& r : rules.list)
    if (is_about(r, a.status, false) && !by_head(r)) return std::nullopt;
  return judge(rules, head, {}, now);
}

}  // namespace headway::app
