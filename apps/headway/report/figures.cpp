#include "report/figures.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <unordered_map>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "base/url.hpp"
#include "whatif/load.hpp"
#include "whatif/newest_limit.hpp"
#include "whatif/trace_reader.hpp"

namespace headway::app {
namespace {

constexpr std::size_t moments_max = 300;
constexpr std::size_t endings_max = 1000, costs_max = 50;

/// The value below which that share of `values` lies; they are put in another order.
double quantile(std::vector<float>& values, double share) {
  if (values.empty()) return 0;
  auto const at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return static_cast<double>(*at);
}

/// Moments of a run whose length is not known before its end: they grow as it does.
class timeline {
 public:
  moment& at(duration t) {
    while (t / each_ >= static_cast<std::int64_t>(moments_max)) halve();
    auto const index = static_cast<std::size_t>(std::max(t, duration(0)) / each_);
    if (index >= all_.size()) all_.resize(index + 1);
    return all_[index];
  }
  void answered(duration sent, double seconds) {
    latencies_.emplace_back(sent, static_cast<float>(seconds));
  }
  /// Adds the time from `begin` to `end`, moment by moment.
  void held(duration begin, duration end, std::string_view why) {
    at(end);
    for (auto t = begin; t < end;) {
      auto const next = std::min(end, (t / each_ + 1) * each_);
      at(t).held[why] += to_seconds(next - t);
      t = next;
    }
  }
  void finish(traced_figures& f) {
    std::vector<std::vector<float>> by_moment(all_.size());
    for (auto const& [t, seconds] : latencies_)
      by_moment[std::min(static_cast<std::size_t>(t / each_), all_.size() - 1)].push_back(seconds);
    for (std::size_t i = 0; i < all_.size(); ++i) {
      all_[i].p50 = quantile(by_moment[i], 0.5);
      all_[i].p99 = quantile(by_moment[i], 0.99);
    }
    f.moment = each_;
    f.moments = std::move(all_);
  }

 private:
  void halve() {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (i % 2 == 0) {
        all_[i / 2] = std::move(all_[i]);
        continue;
      }
      auto& m = all_[i / 2];
      auto const& later = all_[i];
      m.accepted += later.accepted;
      m.throttled += later.throttled;
      m.failed += later.failed;
      m.in_flight = std::max(m.in_flight, later.in_flight);
      if (later.limit > 0 || later.slots > 0) m.limit = later.limit, m.slots = later.slots;
      for (auto const& [why, seconds] : later.held) m.held[why] += seconds;
    }
    all_.resize((all_.size() + 1) / 2);
    each_ *= 2;
  }

  duration each_ = 10ms;
  std::vector<moment> all_{1};
  std::vector<std::pair<duration, float>> latencies_;
};

/// How fast quotas let a scope send, where they hold it often.
class quota_pace {
 public:
  void sent(time_point now, bool held) {
    ++sent_;
    if (!held) return;
    if (held_++ == 0) first_at_ = now, first_ = sent_;
    last_at_ = now, last_ = sent_;
  }
  double per_second() const {
    auto const n = last_ - first_;
    return n < 10 || 4 * held_ < sent_ ? 0
                                       : static_cast<double>(n) / to_seconds(last_at_ - first_at_);
  }

 private:
  std::int64_t sent_ = 0, held_ = 0, first_ = 0, last_ = 0;
  time_point first_at_{}, last_at_{};
};

struct traced_scope {
  std::size_t index = 0;  // of scope_figures
  std::unordered_map<ticket, time_point> flying{};
  std::string_view held{};  // "": nothing waits
  time_point since{};
  quota_pace quotas{};
};

/// The governor calls each ceiling of its user a quota.
std::string_view words_of(traced_call const& c) {
  if (c.why == reason::none) return "";
  return c.what == traced_call::kind::wakeup && c.why == reason::quota ? "own ceiling"
                                                                       : to_string(c.why);
}

double per_second(std::optional<gcra> const& ceiling) {
  return ceiling ? 1 / to_seconds(ceiling->interval) : 0;
}

/// A result, as far as its figures are counted.
struct row {
  decltype(result_figures::endings)::iterator ending{};
  std::string id{}, reason{};
  std::int64_t attempts = 0, throttled = 0;
  double waited = 0, latency = 0;  // seconds
};

}  // namespace

traced_figures figures_of_trace(std::string const& path) {
  trace_reader reader(path);
  traced_figures f;
  f.law = reader.head().law.name;
  auto const began = reader.head().began;
  timeline line;
  std::unordered_map<int, traced_scope> scopes;
  std::map<std::string, std::size_t> known;
  int flying = 0;
  while (auto const call = reader.next()) {
    auto const& c = *call;
    using kind = traced_call::kind;
    if (c.what == kind::scope) {
      auto const [at, first] = known.try_emplace(c.name, f.scopes.size());
      if (first)
        f.scopes.push_back(
            {.name = c.name, .ceiling = per_second(reader.head().settings.rate_ceiling)});
      scopes[c.scope] = {.index = at->second};
      continue;
    }
    auto const t = c.at - began;
    f.took = std::max(f.took, t);
    if (c.what == kind::ctl) {
      f.changed.emplace_back(t, c.words);
      continue;
    }
    if (c.what == kind::cost) {
      auto const full = f.costs.size() >= costs_max && !f.costs.contains(c.name);
      auto& cost = f.costs[full ? "others" : c.name];
      ++cost.answers;
      cost.expected += c.expected, cost.told += c.told;
      continue;
    }
    auto& s = scopes.at(c.scope);
    auto& total = f.scopes[s.index];
    if (!s.held.empty() && c.at > s.since) {
      line.held(s.since - began, t, s.held);
      f.held[s.held] += to_seconds(c.at - s.since);
    }
    s.since = c.at;
    if (c.what == kind::wakeup || c.what == kind::held) s.held = words_of(c);
    if (c.what == kind::limit) total.ceiling = per_second(c.rate);
    if (c.what == kind::start) {
      s.flying[c.id] = c.at;
      s.quotas.sent(c.at, c.quota_until.has_value());
      total.kept_to = s.quotas.per_second();
      auto& m = line.at(t);
      m.in_flight = std::max(m.in_flight, ++flying);
    }
    auto const sent = s.flying.find(c.id);
    if ((c.what == kind::finish || c.what == kind::cancel) && sent != s.flying.end()) {
      auto const begin = sent->second - began;
      if (c.what == kind::finish) {
        auto& m = line.at(begin);
        ++f.attempts, ++total.attempts;
        if (c.result.what == outcome::success) ++m.accepted;
        if (c.result.what == outcome::throttle) ++m.throttled, ++f.throttled, ++total.throttled;
        if (c.result.what == outcome::failure) ++m.failed, ++f.failed, ++total.failed;
        line.answered(begin, to_seconds(c.at - sent->second));
        f.requests += c.ended ? 1 : 0;
      }
      s.flying.erase(sent);
      --flying;
    }
    if (c.belief) {
      total.limit = c.belief->rate, total.slots = c.belief->slots;
      auto& m = line.at(t);
      m.limit = total.limit, m.slots = total.slots;
    }
  }
  line.finish(f);
  std::ranges::stable_sort(f.scopes, std::greater{}, &scope_figures::attempts);
  return f;
}

void find_limit(traced_figures& f, recording const& r) {
  auto const s = std::ranges::find(f.scopes, r.scope, &scope_figures::name);
  if (s == f.scopes.end() || s->throttled == 0) return;
  auto const at = load_of_refusals(r);
  if (auto const met = newest_limit(r, s->limit, at)) {
    s->met = true;
    s->limit = met->rate, s->slots = static_cast<double>(met->slots);
    return;
  }
  s->by_chance = refused_by_chance(r, at);
  if (s->by_chance) s->limit = s->slots = 0;
}

result_figures figures_of_results(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw fatal(exit_usage, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  result_figures f;
  std::map<std::int64_t, row> rows;  // the last result of each line of JOBS holds
  simdjson::dom::parser json;
  std::int64_t number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    simdjson::dom::object o;
    std::string_view outcome, url, reason, id;
    std::int64_t line = 0, status = 0, attempts = 0, throttled = 0;
    double waited = 0, latency = 0;
    auto const is = [](auto error) { return error == simdjson::SUCCESS; };
    if (!is(json.parse(text).get(o)) || !is(o["outcome"].get(outcome)) || !is(o["url"].get(url)) ||
        !is(o["line"].get(line)) || !is(o["attempts"].get(attempts)))
      throw fatal(exit_usage, fmt::format("{}:{}: not a result of headway run", path, number));
    if (!is(o["id"].get(id))) id = "";
    if (!is(o["status"].get(status))) status = 0;
    if (!is(o["throttled"].get(throttled))) throttled = 0;
    if (!is(o["waited_ms"].get(waited))) waited = 0;
    if (!is(o["latency_ms"].get(latency))) latency = 0;
    if (!is(o["reason"].get(reason))) reason = "";
    auto const host = short_name(destination_of(std::string(url)).origin);
    auto key = std::tuple(host, std::string(outcome), static_cast<int>(status));
    if (f.endings.size() >= endings_max && !f.endings.contains(key))
      std::get<0>(key) = "other hosts";
    rows[line] = {.ending = f.endings.try_emplace(std::move(key)).first,
                  .id = std::string(id),
                  .reason = std::string(reason),
                  .attempts = attempts,
                  .throttled = throttled,
                  .waited = waited / 1e3,
                  .latency = latency / 1e3};
  }
  if (in.bad()) throw fatal(exit_usage, fmt::format("cannot read {}: no file of results", path));
  std::vector<float> latencies;
  for (auto& [line, r] : rows) {
    auto const& outcome = std::get<1>(r.ending->first);
    ++(outcome == "success" ? f.success : outcome == "failed" ? f.failed : f.unknown);
    f.attempts += r.attempts;
    f.throttled += r.throttled;
    f.waited += r.waited;
    latencies.push_back(static_cast<float>(r.latency));
    f.max = std::max(f.max, r.latency);
    auto& e = r.ending->second;
    if (e.count++ == 0) e.example_id = std::move(r.id), e.reason = std::move(r.reason);
  }
  std::erase_if(f.endings, [](auto const& e) { return e.second.count == 0; });
  f.p50 = quantile(latencies, 0.5);
  f.p99 = quantile(latencies, 0.99);
  return f;
}

}  // namespace headway::app
