#include "pacing/laws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <variant>

#include "base/fatal.hpp"
#include "base/nearest.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "headway/text/law.hpp"

namespace headway::app {
namespace {

constexpr std::uint64_t successes_min = 3;  // that a limit takes to be one
constexpr double agrees = 1.15;  // times: what the law knows and what was accepted are one rate
constexpr duration certain_over = 2s;  // which a rate needs …
constexpr int certain_rows = 3;        // … and rows of refusals
constexpr double near_ceiling = 0.87;  // of the caller's own: that, not the server, made it so
constexpr double slower = 1.5;         // another limit, or much that went wrong, made it so

template <class L>
concept knowing = requires(L l, learned const& k, duration age) {
  l.knows();
  l.remember(k, age);
  l.leave;
  l.met();
  l.so_far.epoch;
  l.broken.limit;
  l.trial.share;
};
static_assert(knowing<seek>);

/// f of a law that learns; a default R of another.
template <class R, class Law, class F>
R if_knowing(Law& l, F f) {
  return std::visit(
      [&](auto& chosen) -> R {
        if constexpr (knowing<std::remove_cvref_t<decltype(chosen)>>) return f(chosen);
        return R();
      },
      l.choice);
}

/// Returns whether a limit was met: failures alone are none until what followed their cut is
/// judged.
bool limit_met(knowing auto const& l) {
  return l.met() && (l.trial.share == 0 || l.trial.top.at > 0);
}

/// Returns whether a rate was met within a window: two cycles gave as many, and far less.
bool is_within_window(spurt const& w, double rate) {
  return w.equal >= 1 && w.units > spurt::requests && rate * w.seconds > slower * w.units;
}

/// What to do about failures where answers take ever longer: words, or "".
std::string queued(latency const& w) {
  constexpr double longer = 1.5;
  if (w.first.longest == 0 || w.mean < longer * w.first.longest) return "";
  return fmt::format(
      "; the first answers took {}, later ones {}: they queue, and a smaller --concurrency loses "
      "fewer",
      in_words(from_seconds(w.first.longest)), in_words(from_seconds(w.mean)));
}

/// Returns what its refusals show, whatever the law thinks: words, or "" where they show nothing
/// for sure.
std::string shown_by_refusals(throughput const& through, learned const& k, bool met,
                              std::optional<gcra> const& own) {
  auto const& seen = through.between();
  auto const r = seen.kept_up();
  auto const& slots = through.slots();
  if (auto const s = slots.told(); s && k.slots > 0) {
    auto words = s->exact() ? fmt::format("about {} at once", s->most)
                            : fmt::format("between {} and {} at once", s->least, s->most);
    if (slots.tells_from_rate() || !r || !r->certain) return words;
    return fmt::format("{}, or {}", words, rate_in_words(r->per_second));
  }
  auto const w = seen.shown();
  auto in_window = w ? fmt::format("about {:.0f} in {}", w->units, in_words(w->period)) : "";
  if (w && w->shut) return in_window;
  auto const by_ceiling = r && own && r->per_second * to_seconds(own->interval) > near_ceiling;
  if (!r || !r->certain || by_ceiling || !met) return in_window;
  auto const least = r->per_second, most = std::max(r->most, k.rate);
  auto const agree = r->steady && k.slots == 0 && k.rate > least / agrees && most < agrees * least;
  if (agree && r->over >= certain_over && r->rows >= certain_rows && !slots.may_be())
    return fmt::format("a limit of about {}", rate_in_words(std::sqrt(least * most)));
  return w ? in_window : fmt::format("a limit of at least {}", rate_in_words(least));
}

/// Returns what happened, where it is not known which limit made it so.
std::string told_of_refusals(throughput const& through, bool by_slots) {
  auto text = fmt::format("{} refused, at no certain rate", through.refusals());
  if (auto const r = through.between().kept_up(); r && r->certain && r->over >= certain_over)
    text += fmt::format(", {} over {}", rate_in_words(r->per_second), in_words(r->over));
  else if (auto const o = through.slots().out(); o && by_slots)
    text += o->exact() ? fmt::format(", with {} at work", o->most)
                       : fmt::format(", with {} to {} at work", o->least, o->most);
  else if (auto const s = through.between().stood(); s && s->lasted >= 1s)
    text += fmt::format(", {:.0f} accepted, then none for {}", s->units, in_words(s->lasted));
  return text;
}

bool many_failures(knowing auto const& l) {
  return l.broken.share > l.broken.usual + breakage::limit_share;
}

}  // namespace

std::vector<std::string> names_of_laws() {
  std::vector<std::string> all;
  for (auto const& l : shipped_laws()) all.emplace_back(l.name);
  return all;
}

std::string law_names() {
  std::string names;
  for (auto const& l : shipped_laws()) names.append(names.empty() ? "" : ", ").append(l.name);
  return names;
}

shipped_law law_named(std::string_view text) {
  auto const name = text.substr(0, text.find_first_of("(+"));
  if (shipped_law_named(name) == nullptr && name != "backoff")
    throw fatal(exit_usage, fmt::format("--law {}: no such law{}; it is one of {}", printable(name),
                                        did_you_mean(name, names_of_laws()), law_names()));
  return option_value("--law", std::string(text), parse_law);
}

std::optional<learned> knowledge_of(any_law const& l) {
  return if_knowing<std::optional<learned>>(l, [](auto const& one) -> std::optional<learned> {
    if (!limit_met(one) || one.so_far.successes < successes_min) return std::nullopt;
    return one.knows();
  });
}

void remember(any_law& l, learned const& what, duration age) {
  if_knowing<bool>(l, [&](auto& one) { return one.remember(what, age), true; });
}

std::optional<double> leave_of(any_law const& l) {
  return if_knowing<std::optional<double>>(l, [](auto const& one) { return one.leave; });
}

bool leave(any_law& l, double share) {
  return if_knowing<bool>(l, [&](auto& one) { return one.leave = share, true; });
}

speeds speeds_of(any_law const& l) noexcept {
  constexpr auto none = std::numeric_limits<double>::infinity();
  if (auto const known = if_knowing<std::optional<speeds>>(l, [](auto const& one) {
        return speeds{one.pace(), one.top.slots ? one.allowed() : none};
      }))
    return *known;
  if (auto const* a = std::get_if<paced<adaptive_rate, fixed_window>>(&l.choice))
    return {a->pace.rate, none};
  if (auto const* f = std::get_if<paced<gcra, fixed_window>>(&l.choice))
    return {1 / to_seconds(f->pace.interval), l.allowed()};
  return {none, l.allowed()};
}

std::uint64_t cuts_of(any_law const& l) noexcept {
  return if_knowing<std::uint64_t>(l, [](auto const& one) { return one.so_far.epoch; });
}

std::string findings(any_law const& l, beside_law const& beside) {
  auto const within_own = [&](double r) {
    return beside.own ? std::min(r, 1 / to_seconds(beside.own->interval)) : r;
  };
  auto const& window = beside.window;
  auto const& through = beside.through;
  auto told = if_knowing<std::string>(l, [&](auto const& one) -> std::string {
    auto const k = one.knows();
    if (k.latency == 0) return "";
    auto latency = fmt::format("latency {:.0f} ms", k.latency * 1e3);
    auto const kept = through.mean() > 0 ? fmt::format("{} over {}", rate_in_words(through.mean()),
                                                       in_words(through.waited()))
                                         : "";
    auto const with_latency = [&](std::string const& text) {
      return text + (text.empty() ? "" : ", ") + latency;
    };
    if (window.spent()) {
      auto const words = window.words();
      return with_latency(words.empty() ? kept : words);
    }
    auto const by_failures = one.broken.limit && !one.broken.told;
    if (through.refusals() > 0 && !beside.shared && one.leave == 0 && !by_failures) {
      auto const words = shown_by_refusals(through, k, limit_met(one), beside.own);
      if (!words.empty()) return with_latency(words);
      auto const went = through.mean() > 0 ? through.mean() : through.most();
      bool const proven = beside.knew && limit_met(one) && k.slots == 0 && went * agrees > k.rate &&
                          k.rate * agrees > went;
      if (!proven) return with_latency(told_of_refusals(through, k.slots > 0));
    }
    if (limit_met(one) && k.slots == 0 && is_within_window(one.others.window, k.rate)) {
      auto const& w = one.others.window;
      return with_latency(
          fmt::format("about {:.0f} in {}", w.units, in_words(from_seconds(w.seconds))));
    }
    if (!limit_met(one)) {
      if (auto const n = through.refusals(); n > 0)
        return with_latency(fmt::format("{} refused, at no certain rate", n) +
                            (kept.empty() ? "" : ", " + kept));
      if (beside.quotas_bind || window.any()) return with_latency(kept);
      return fmt::format(
          "no limit met up to {}{}, {}", rate_in_words(within_own(through.most())),
          many_failures(one) ? ", but many failures, which may tell one" + queued(one.wait) : "",
          latency);
    }
    auto const by = by_failures ? " (told by failures)" : "";
    if (k.slots > 0)  // where refusals begin
      return with_latency(
          fmt::format("{:.0f} to {:.0f} at once{}", std::max(k.slots - 1, 1.0), k.slots, by));
    auto const much_less = !beside.shared && through.mean() > 0 &&
                           within_own(k.rate) * (1 - one.leave) > slower * through.mean();
    return with_latency(fmt::format("a limit of about {}{}{}", rate_in_words(k.rate), by,
                                    much_less ? ", but " + kept : ""));
  });
  if (!told.empty()) return told;
  if (auto const* r = std::get_if<paced<hesitant, reno>>(&l.choice))
    return fmt::format("a window of {:.1f}", r->win.cwnd);
  if (auto const* t = std::get_if<paced<hesitant, tahoe>>(&l.choice))
    return fmt::format("a window of {:.1f}", t->win.cwnd);
  if (auto const* a = std::get_if<paced<adaptive_rate, fixed_window>>(&l.choice))
    return fmt::format("a rate of {}", rate_in_words(a->pace.rate));
  if (auto const* a = std::get_if<auto_sleeper>(&l.choice))
    return fmt::format(
        "an interval of {:.3g} s; of {} answers {} raised it and {} lowered it, {} "
        "sleeps of {} in all",
        to_seconds(a->current_interval), a->metrics.total_invocation, a->metrics.total_went_up,
        a->metrics.total_went_down, a->metrics.total_slept, in_words(a->metrics.total_sleep_time));
  return "";
}

}  // namespace headway::app
