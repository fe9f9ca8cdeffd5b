#include "report/content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.hpp"
#include "base/url.hpp"
#include "base/words.hpp"

namespace headway::app {
namespace {

constexpr std::size_t rows_max = 50;

using section = report_section;

std::string seconds(double s) {
  return s == 0 ? "–" : short_in_words(from_seconds(s));
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string share(std::int64_t part, std::int64_t all) {
  return percent(all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0);
}

std::string limit_of(scope_figures const& s) {
  auto about = s.slots > 0 ? fmt::format("{:.0f} at once", s.slots) : rate_in_words(s.limit);
  if (s.met) return about;
  if (s.kept_to > 0) return rate_in_words(s.kept_to) + ", as the server told";
  auto const own =
      s.ceiling > 0 ? fmt::format("; own ceiling {}", rate_in_words(s.ceiling)) : std::string();
  if (s.throttled > 0 && s.throttled == s.attempts) return "not known: all was refused" + own;
  if (s.throttled == 0) return "not met" + own;
  if (s.by_chance) return "none seen: refusals came at any pace" + own;
  auto const believes = s.slots > 0 || s.limit > 0;
  return "not known" + (believes ? "; the law believed " + about : "") + own;
}

bool has_limit(scope_figures const& s) {
  return s.met || s.kept_to > 0;
}

/// The reasons why it waited, the longest first.
std::vector<std::pair<double, std::string_view>> reasons_of(traced_figures const& t) {
  std::vector<std::pair<double, std::string_view>> order;
  for (auto const& [why, s] : t.held) order.emplace_back(s, why);
  std::ranges::sort(order, std::greater{});
  return order;
}

/// What a file of several runs leaves open.
std::vector<std::string> doubts_of(result_figures const& f) {
  std::vector<std::string> all;
  if (f.after_success > 0)
    all.push_back(
        fmt::format("Results after a success of the same id: {}. They are of another run, and "
                    "count; a failure that has a later result of its id, of whichever run, does "
                    "not.",
                    f.after_success));
  if (f.elsewhere > 0)
    all.push_back(fmt::format(
        "Results in the place of a failure of the same id with another URL: {}. Their "
        "lines were corrected, or they are of another run; then those failures are missing here.",
        f.elsewhere));
  if (f.copies > 0)
    all.push_back(fmt::format(
        "Results that are copies of others, to the byte: {}. They do not count.", f.copies));
  return all;
}

std::vector<std::string> summary_of(reported const& r) {
  std::vector<std::string> all;
  if (auto const& t = r.trace) {
    all.push_back(fmt::format(
        "{} requests ended in {}: {} attempts, {} throttled ({}), {} failed. The law was {}.",
        t->requests, in_words(t->took), t->attempts, t->throttled, share(t->throttled, t->attempts),
        t->failed, t->law));
    if (!t->scopes.empty()) {
      auto const& most = t->scopes.front();
      all.push_back(fmt::format("The limit of {}{}{}.", printable(short_name(most.name)),
                                has_limit(most) ? " was about " : ": ", limit_of(most)));
    }
    if (auto const why = reasons_of(*t); !why.empty() && t->scopes.size() == 1)
      all.push_back(fmt::format("For {} of that the next request was held back by: {}.",
                                in_words(from_seconds(why.front().first)), why.front().second));
  }
  if (auto const& f = r.results) {
    all.push_back(
        fmt::format("{} succeeded, {} failed, {} unknown, with {} attempts, {} of them throttled.",
                    f->success, f->failed, f->unknown, f->attempts, f->throttled));
    all.push_back(
        fmt::format("Requests waited for {} on average. The last attempt took {} in the median, {} "
                    "at p99, {} at most.",
                    seconds(f->waited / static_cast<double>(std::max<std::int64_t>(
                                            1, f->success + f->failed + f->unknown))),
                    seconds(f->p50), seconds(f->p99), seconds(f->max)));
    for (auto& note : doubts_of(*f)) all.push_back(std::move(note));
  }
  return all;
}

section waits_of(traced_figures const& t) {
  section s{.title = "Why it waited", .rows = {{"Reason", "Time", "Share"}}};
  double sum = 0;
  for (auto const& [why, held] : t.held) sum += held;
  for (auto const& [held, why] : reasons_of(t))
    s.rows.push_back({std::string(why), in_words(from_seconds(held)),
                      fmt::format("{:.0f} %", 100 * held / sum)});
  return s;
}

section scopes_of(traced_figures const& t) {
  section s{.title = "Scopes",
            .rows = {{"Scope", "Attempts", "Throttled", "Failed", "The limit was"}}};
  for (auto const& scope : t.scopes) {
    if (s.rows.size() > rows_max) break;
    s.rows.push_back(
        {printable(short_name(scope.name)), std::to_string(scope.attempts),
         fmt::format("{} ({})", scope.throttled, share(scope.throttled, scope.attempts)),
         std::to_string(scope.failed), limit_of(scope)});
  }
  if (t.scopes.size() >= s.rows.size())
    s.notes.push_back(fmt::format("{} scopes more.", t.scopes.size() + 1 - s.rows.size()));
  return s;
}

section laws_of(forecast const& f) {
  section s{.title = "What another law would have done"};
  if (!f.withheld.empty()) {
    s.notes.push_back(fmt::format("Not told: {}.", f.withheld));
    return s;
  }
  auto const& like = f.like;
  s.rows = {{"Law", "Time", "Attempts", "Throttled"},
            {"as recorded", in_words(like.recorded_took), std::to_string(f.attempts),
             percent(like.recorded_throttled)},
            {"the same law, simulated", in_words(like.took), "–", percent(like.throttled)}};
  for (auto const& r : f.rows)
    s.rows.push_back(
        {r.law == "told" ? "knows the limit" : r.law, r.ended ? in_words(r.took) : "does not end",
         r.ended ? std::to_string(r.attempts) : "–", r.ended ? percent(r.throttled) : "–"});
  s.notes.push_back(fmt::format(
      "Simulated on a server that was fitted to this run, {}: {}. It is a forecast only as far as "
      "the server is like that one; headway simulate --from shows it.",
      f.limit, f.how_sure));
  if (!f.whole)
    s.notes.push_back(
        fmt::format("Of the first {} requests at {}.", f.requests, printable(short_name(f.scope))));
  else if (f.elsewhere)
    s.notes.push_back(fmt::format("Of {} alone.", printable(short_name(f.scope))));
  return s;
}

section costs_of(traced_figures const& t) {
  section s{.title = "What it cost",
            .rows = {{"Quota", "Answers", "Used", "An answer", "Expected", "Used ÷ expected"}}};
  for (auto const& [name, c] : t.costs)
    s.rows.push_back({printable(name), std::to_string(c.answers), fmt::format("{:.10g}", c.told),
                      fmt::format("{:.4g}", c.told / static_cast<double>(c.answers)),
                      c.expected > 0 ? fmt::format("{:.10g}", c.expected) : "–",
                      c.expected > 0 ? fmt::format("{:.2f}", c.told / c.expected) : "–"});
  s.notes.push_back(
      "Used is what the answers say. Expected is what was set aside before: declared by the "
      "caller, else estimated.");
  return s;
}

section changes_of(traced_figures const& t) {
  section s{.title = "Changed by headway ctl", .rows = {{"After", "Change"}}};
  for (auto const& [at, words] : t.changed)
    if (s.rows.size() <= rows_max) s.rows.push_back({in_words(at), printable(words)});
  return s;
}

section endings_of(result_figures const& f) {
  std::vector<std::pair<std::int64_t, section::row>> order;
  for (auto const& [key, e] : f.endings) {
    auto const& [host, outcome, status] = key;
    order.emplace_back(
        e.count, section::row{printable(host), outcome, status > 0 ? std::to_string(status) : "–",
                              std::to_string(e.count), cut_to(40, printable(e.example_id)),
                              cut_to(120, printable(e.reason))});
  }
  std::ranges::stable_sort(order, std::greater{}, [](auto const& o) { return o.first; });
  if (order.size() > rows_max) order.resize(rows_max);
  section s{.title = "How requests ended",
            .rows = {{"Host", "Outcome", "Status", "Requests", "Example", "Its reason"}}};
  for (auto& [count, cells] : order) s.rows.push_back(std::move(cells));
  return s;
}

}  // namespace

report_content content_of(reported const& r) {
  report_content c{.title = r.title, .summary = summary_of(r)};
  if (auto const& t = r.trace) {
    if (!t->held.empty()) c.sections.push_back(waits_of(*t));
    c.sections.push_back(scopes_of(*t));
    if (r.laws) c.sections.push_back(laws_of(*r.laws));
    if (!t->costs.empty()) c.sections.push_back(costs_of(*t));
    if (!t->changed.empty()) c.sections.push_back(changes_of(*t));
  }
  if (r.results) c.sections.push_back(endings_of(*r.results));
  return c;
}

}  // namespace headway::app
