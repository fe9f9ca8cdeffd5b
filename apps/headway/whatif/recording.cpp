#include "whatif/recording.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/fatal.hpp"
#include "whatif/trace_reader.hpp"

namespace headway::app {
namespace {

struct recorded_scope {
  recording r{};
  std::optional<time_point> first{};
  std::size_t live = 0;
  std::unordered_map<ticket, std::int64_t> costs{};
  std::unordered_map<ticket, recording::attempt> flying{};
};

recording of_trace(std::string const& file) {
  trace_reader reader(file);
  std::map<int, recorded_scope> scopes;
  while (auto const call = reader.next()) {
    auto const& c = *call;
    using kind = traced_call::kind;
    if (!c.decides()) continue;
    auto& s = scopes[c.scope];
    if (c.what == kind::scope) {
      s.r.scope = c.name;
      s.r.memory = c.memory;
      s.r.ceiling = reader.head().settings.rate_ceiling;
      continue;
    }
    auto const at = [&](time_point t) { return time_point(t - s.first.value_or(t)); };
    switch (c.what) {
      case kind::submit:
        if (c.ended) break;
        if (!s.first) s.first = c.at;
        ++s.r.requests;
        s.r.last_request = at(c.at).time_since_epoch();
        s.costs[c.id] = c.terms.cost;
        if (++s.live >= reader.head().settings.queue_max) s.r.filled_up = true;
        break;
      case kind::start:
        s.flying[c.id] = {
            .sent = at(c.at), .cost = s.costs[c.id], .quota_held = c.quota_until.has_value()};
        break;
      case kind::finish:
        if (auto const found = s.flying.find(c.id); found != s.flying.end()) {
          auto a = found->second;
          s.flying.erase(found);
          a.latency = at(c.at) - a.sent;
          a.what = c.result.what;
          a.ended = c.ended;
          a.advised = c.result.advice.retry_after.has_value();
          if (a.what == outcome::success) s.r.took = at(c.at).time_since_epoch();
          s.r.take(a);
        }
        if (c.ended) --s.live, s.costs.erase(c.id);
        break;
      case kind::learn:  // the head of an answer, whose end follows
        break;
      case kind::cancel:  // taken back, or ended by its deadline
        s.flying.erase(c.id);
        if (s.costs.erase(c.id) > 0) --s.live;
        break;
      case kind::limit:
        s.r.ceiling = c.rate;
        break;
      case kind::scope:
      case kind::wakeup:
      case kind::look:
      case kind::claim:
      case kind::leave:
      case kind::ctl:
      case kind::cost:
      case kind::held:
      case kind::end:
        break;
    }
  }
  auto const most = std::ranges::max_element(
      scopes, {}, [](auto const& entry) { return entry.second.r.attempts.size(); });
  if (most == scopes.end() || most->second.r.attempts.empty())
    throw fatal(exit_usage, fmt::format("{}: nothing was sent in it", file));
  auto r = std::move(most->second.r);
  r.scopes = static_cast<std::int64_t>(scopes.size());
  for (auto const& [number, s] : scopes)
    if (number != most->first) r.elsewhere += static_cast<std::int64_t>(s.r.attempts.size());
  r.law = reader.head().law;
  r.settings = reader.head().settings;
  return r;
}

/// A result tells of its last attempt, and how many before it were refused.
recording of_results(std::string const& file, std::ifstream in) {
  recording r;
  r.timed = false;
  simdjson::dom::parser json;
  std::string text;
  for (std::int64_t line = 1; std::getline(in, text); ++line) {
    auto const wrong = [&](std::string_view what) {
      throw fatal(exit_usage, fmt::format("{}:{}: {}", file, line, what));
    };
    simdjson::dom::object o;
    if (json.parse(text).get(o) != simdjson::SUCCESS) wrong("neither a trace nor results");
    std::string_view how;
    double waited = 0, latency = 0;
    std::int64_t attempts = 0, throttled = 0;
    if (o["outcome"].get(how) != simdjson::SUCCESS ||
        o["attempts"].get(attempts) != simdjson::SUCCESS ||
        o["throttled"].get(throttled) != simdjson::SUCCESS ||
        o["waited_ms"].get(waited) != simdjson::SUCCESS ||
        o["latency_ms"].get(latency) != simdjson::SUCCESS)
      wrong("a result has outcome, attempts, throttled, waited_ms and latency_ms");
    ++r.requests;
    r.throttled += throttled;
    if (attempts == 0 || r.attempts.size() >= recording::attempts_max) continue;
    recording::attempt const a{.sent = time_point(from_seconds(waited / 1e3)),
                               .latency = from_seconds(latency / 1e3),
                               .what = how == "success" ? outcome::success : outcome::failure,
                               .ended = true};
    if (a.what == outcome::success)
      r.took = std::max(r.took, later(a.sent, a.latency).time_since_epoch());
    r.attempts.push_back(a);
  }
  if (in.bad()) throw fatal(exit_usage, fmt::format("cannot read {}", file));
  if (r.attempts.empty()) throw fatal(exit_usage, fmt::format("{}: nothing was sent in it", file));
  r.settings = {.hint_max = 15min};
  return r;
}

}  // namespace

double recording::throttled_share() const noexcept {
  auto const timed_ones = std::ranges::count_if(attempts, &attempt::refused);
  auto const refused = static_cast<double>(throttled + timed_ones);
  return refused / static_cast<double>(static_cast<std::int64_t>(attempts.size()) + throttled);
}

void recording::take(attempt const& a) {
  if (attempts.size() < attempts_max) return attempts.push_back(a);
  if (last.size() == 2 * newest_max) last.erase(last.begin(), last.end() - newest_max);
  last.push_back(a);
}

std::span<recording::attempt const> recording::newest() const {
  stretch const all = last.size() < newest_max ? attempts : last;
  return all.last(std::min(all.size(), newest_max));
}

recording recording::first(std::size_t n) const {
  auto part = *this;
  if (n >= attempts.size()) return part;
  part.attempts.resize(n);
  part.last.clear();
  part.requests = std::ranges::count(part.attempts, true, &attempt::ended);
  part.took = 0ns;
  for (auto const& a : part.attempts)
    if (a.what == outcome::success)
      part.took = std::max(part.took, later(a.sent, a.latency).time_since_epoch());
  part.last_request = std::min(last_request, part.took);
  return part;
}

std::int64_t accepted(stretch all) {
  std::int64_t units = 0;
  for (auto const& a : all) units += a.accepted();
  return units;
}

std::int64_t busiest(stretch all, duration period) {
  std::int64_t most = 0, now = 0;
  std::size_t first = 0;
  for (auto const& a : all) {
    for (; all[first].sent + period <= a.sent; ++first) now -= all[first].accepted();
    now += a.accepted();
    most = std::max(most, now);
  }
  return most;
}

std::vector<std::int64_t> in_flight(stretch all, duration slack) {
  std::vector<std::int64_t> at;
  std::multiset<time_point> ends;
  for (auto const& a : all) {
    ends.erase(ends.begin(), ends.upper_bound(a.sent + slack));
    at.push_back(static_cast<std::int64_t>(ends.size()));
    if (!a.refused()) ends.insert(later(a.sent, a.latency));
  }
  return at;
}

recording read_recording(std::string const& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw fatal(exit_usage, fmt::format("cannot read {}: {}", file, std::strerror(errno)));
  std::string begin(64, '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(in.gcount()));
  auto const traced = begin.empty() || begin.find("\"headway_trace\"") != begin.npos;
  in.clear();
  in.seekg(0);
  auto r = traced ? of_trace(file) : of_results(file, std::move(in));
  r.file = file;
  // They were taken in the order of their answers; of those sent at one instant a limit accepts the
  // first.
  auto const in_order = [](recording::attempt const& a) { return std::pair(a.sent, a.refused()); };
  std::ranges::stable_sort(r.attempts, {}, in_order);
  std::ranges::stable_sort(r.last, {}, in_order);
  return r;
}

}  // namespace headway::app
