#include "whatif/what_if.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/fatal.hpp"
#include "base/nearest.hpp"
#include "base/quantity.hpp"
#include "headway/sim/simulation.hpp"
#include "whatif/trace_reader.hpp"

namespace headway::app {
namespace {

/// Counts what goes out.
class meter {
 public:
  explicit meter(time_point began) : began_(began) {}

  void sent(time_point now) {
    if (total_.attempts++ == 0) total_.first = now - began_;
    total_.last = now - began_;
    second_.push_back(now);
    while (second_.front() <= now - 1s) second_.pop_front();
    total_.peak = std::max(total_.peak, second_.size());
    total_.in_flight_max = std::max(total_.in_flight_max, ++in_flight_);
  }
  void answered(outcome what) {
    --in_flight_;
    if (what == outcome::throttle) ++total_.throttled;
  }
  void ended() { ++total_.requests; }

  sending total() const {
    auto t = total_;
    auto const span = to_seconds(t.last - t.first);
    t.rate = span > 0 ? static_cast<double>(t.attempts - 1) / span : 0;
    return t;
  }

 private:
  time_point began_;
  sending total_;
  std::deque<time_point> second_;  // sends of the last second
  int in_flight_ = 0;
};

/// What came of one recorded attempt.
struct answer {
  time_point sent{};
  time_point quota_until = time_point::min();  // the quotas held it until then
  duration latency{};
  attempt_result result{};
  std::optional<duration> head_latency{};
  attempt_result head{};
  fraction u_start = 0;
  fraction u_head = 0;
  fraction u_finish = 0;
  bool known = false;
  bool cancelled = false;  // the run took the attempt back
};

/// The governor of any law that a simulation knows.
class sender {
  template <class Question>
  auto ask(Question question) {
    return std::visit(question, governor_);
  }

 public:
  explicit sender(sim::client_governor g) : governor_(std::move(g)) {}

  auto submit(time_point now, request_terms const& terms) {
    return ask([&](auto& g) { return g.submit(now, terms); });
  }
  void start(time_point now, ticket t, fraction u) {
    ask([&](auto& g) { g.start(now, t, u); });
  }
  void learn(time_point now, ticket t, attempt_result const& r, fraction u) {
    ask([&](auto& g) { g.learn(now, t, r, u); });
  }
  decision finish(time_point now, ticket t, attempt_result const& r, fraction u) {
    return ask([&](auto& g) { return g.finish(now, t, r, u); });
  }
  void cancel(time_point now, ticket t) {
    ask([&](auto& g) { g.cancel(now, t); });
  }
  auto next(time_point now) {
    return ask([&](auto& g) { return g.next(now); });
  }
  auto expired(time_point now) {
    return ask([&](auto& g) { return g.expired(now); });
  }
  auto parked(time_point now) {
    return ask([&](auto& g) { return g.parked(now); });
  }
  time_point wakeup(time_point now) {
    return ask([&](auto& g) { return g.wakeup(now); });
  }
  bool idle() const {
    return std::visit([](auto const& g) { return g.in_flight() == 0 && g.waiting() == 0; },
                      governor_);
  }

 private:
  sim::client_governor governor_;
};

struct scope {
  sender governor;
  time_point wake = time_point::min();
  bool stopped = false;  // parked, or without an answer for the next attempt
  bool closed = false;   // the run dropped it
  int arriving = 0;
  std::deque<answer> answers{};
  std::int64_t answers_used = 0;
  std::unordered_map<ticket, std::int64_t> flying{};  // recorded attempt by ticket
};

struct arrival {
  time_point available;
  int scope;
  request_terms terms;
};

struct reply {
  time_point at;
  std::int64_t sequence;
  int scope;
  ticket id;
  answer what;
  bool is_head = false;
  friend bool operator>(reply const& a, reply const& b) {
    return std::tie(a.at, a.sequence) > std::tie(b.at, b.sequence);
  }
};

sim::scenario governed_by(governor_settings const& settings) {
  sim::scenario s;
  s.governing = settings;
  return s;
}

class experiment {
 public:
  experiment(std::string const& path, sim::contender const& law)
      : reader_(path),
        law_(law),
        settings_(reader_.head().settings),
        client_(governed_by(settings_)),
        recorded_(reader_.head().began),
        other_(reader_.head().began) {}

  what_if_result run() {
    for (auto now = reader_.head().began; now != never; now = std::max(now, next_event())) {
      deliver(now);
      admit(now);
      for (auto& [number, s] : scopes_) pump(number, s, now);
    }
    while (read()) {  // what the other law never came to
    }
    return {.law = std::string(reader_.head().law.name),
            .recorded = recorded_.total(),
            .other = other_.total(),
            .ahead = ahead_,
            .ahead_max = ahead_max_,
            .unanswered = static_cast<std::int64_t>(live_ + arrivals_.size())};
  }

 private:
  time_point next_event() {
    auto at = replies_.empty() ? never : replies_.top().at;
    if (live_ < settings_.queue_max && !arrivals_.empty())
      at = std::min(at, arrivals_.front().available);
    std::erase_if(scopes_, [](auto const& entry) {
      auto& s = entry.second;
      return s.closed && s.arriving == 0 && s.governor.idle();
    });
    for (auto const& [number, s] : scopes_)
      if (!s.stopped) at = std::min(at, s.wake);
    return at;
  }

  void deliver(time_point now) {
    while (!replies_.empty() && replies_.top().at <= now) {
      auto const r = replies_.top();
      replies_.pop();
      auto& s = scopes_.at(r.scope);
      s.wake = now;
      if (r.is_head) {
        s.governor.learn(now, r.id, r.what.head, r.what.u_head);
        continue;
      }
      if (r.what.cancelled) {
        other_.answered(outcome::ignore);
        s.governor.cancel(now, r.id);
        end_request();
        continue;
      }
      other_.answered(r.what.result.what);
      auto const ruling = s.governor.finish(now, r.id, r.what.result, r.what.u_finish);
      if (ruling.why == reason::refused_alone && ruling.what == verdict::park) {
        s.governor.cancel(now, r.id);
        end_request();
      } else if (ruling.what == verdict::park) {
        s.stopped = true;
      }
      if (ruling.what == verdict::done || ruling.what == verdict::give_up) end_request();
    }
  }

  void admit(time_point now) {
    while (live_ < settings_.queue_max) {
      while (arrivals_.empty() && read()) {
      }
      if (arrivals_.empty() || arrivals_.front().available > now) return;
      auto const a = arrivals_.front();
      arrivals_.pop_front();
      auto& s = scopes_.at(a.scope);
      --s.arriving;
      s.wake = now;
      if (std::holds_alternative<ticket>(s.governor.submit(now, a.terms))) ++live_;
    }
  }

  void pump(int number, scope& s, time_point now) {
    if (s.wake > now || s.stopped) return;
    while (auto const late = s.governor.expired(now)) {
      s.governor.cancel(now, *late);
      end_request();
    }
    while (auto const parked = s.governor.parked(now)) {
      s.stopped = parked->why != reason::refused_alone;
      if (s.stopped) return;
      s.governor.cancel(now, parked->id);
      end_request();
    }
    while (auto const turn = s.governor.next(now)) {
      auto const* const what = next_answer(s);
      if (what == nullptr) {
        s.stopped = true;
        return;
      }
      if (what->quota_until > now) {
        s.wake = what->quota_until;
        return;
      }
      s.governor.start(now, *turn, what->u_start);
      other_.sent(now);
      if (now < what->sent) {
        ++ahead_;
        ahead_max_ = std::max(ahead_max_, what->sent - now);
      }
      if (what->head_latency)
        replies_.push({now + *what->head_latency, sequence_++, number, *turn, *what, true});
      replies_.push({now + what->latency, sequence_++, number, *turn, *what});
      s.answers.pop_front();
      ++s.answers_used;
    }
    s.wake = s.governor.wakeup(now);
  }

  void end_request() {
    --live_;
    other_.ended();
  }

  /// Null where the trace has none.
  answer const* next_answer(scope& s) {
    while ((s.answers.empty() || !s.answers.front().known) && read()) {
    }
    if (s.answers.empty() || !s.answers.front().known) return nullptr;
    return &s.answers.front();
  }

  /// Takes one line more of the trace; false at its end.
  bool read() {
    auto const call = reader_.next();
    if (!call) return false;
    auto const& c = *call;
    using kind = traced_call::kind;
    if (!c.decides()) return true;
    if (c.what == kind::scope) {
      scopes_.insert_or_assign(c.scope, scope{.governor = sender(law_.make(client_))});
      return true;
    }
    auto& s = scopes_.at(c.scope);
    switch (c.what) {
      case kind::submit:
        if (c.ended) break;
        arrivals_.push_back({full_ ? time_point::min() : c.at, c.scope, c.terms});
        ++s.arriving;
        full_ = full_ || ++recorded_live_ >= settings_.queue_max;
        break;
      case kind::start:
        s.flying[c.id] = s.answers_used + static_cast<std::int64_t>(s.answers.size());
        s.answers.push_back({.sent = c.at,
                             .quota_until = c.quota_until.value_or(time_point::min()),
                             .u_start = c.u});
        recorded_.sent(c.at);
        break;
      case kind::learn:
        if (auto const found = s.flying.find(c.id); found != s.flying.end()) {
          auto& a = s.answers.at(static_cast<std::size_t>(found->second - s.answers_used));
          a.head_latency = c.at - a.sent;
          a.head = c.result;
          a.u_head = c.u;
        }
        break;
      case kind::finish:
      case kind::cancel:
        if (auto const found = s.flying.find(c.id); found != s.flying.end()) {
          auto& a = s.answers.at(static_cast<std::size_t>(found->second - s.answers_used));
          a.latency = c.at - a.sent;
          a.result = c.result;
          a.u_finish = c.u;
          a.known = true;
          a.cancelled = c.what == kind::cancel;
          recorded_.answered(a.cancelled ? outcome::ignore : c.result.what);
          s.flying.erase(found);
        }
        if (c.ended || c.what == kind::cancel) {
          --recorded_live_;
          recorded_.ended();
        }
        break;
      case kind::end:
        s.closed = true;
        break;
      case kind::scope:
      case kind::wakeup:
      case kind::look:
      case kind::claim:
      case kind::limit:
      case kind::leave:
      case kind::ctl:
      case kind::cost:
      case kind::held:
        break;
    }
    return true;
  }

  trace_reader reader_;
  sim::contender const& law_;
  governor_settings settings_;
  sim::scenario client_;
  std::map<int, scope> scopes_;
  std::deque<arrival> arrivals_;
  std::priority_queue<reply, std::vector<reply>, std::greater<>> replies_;
  std::int64_t sequence_ = 0;
  std::size_t live_ = 0;
  std::size_t recorded_live_ = 0;
  bool full_ = false;  // the run has held as many requests as it may
  meter recorded_;
  meter other_;
  std::int64_t ahead_ = 0;
  duration ahead_max_{};
};

}  // namespace

std::vector<std::string> laws_of_what_if() {
  std::vector<std::string> names;
  for (auto const* all : {&sim::contenders(), &sim::variants()})
    for (auto const& law : *all)
      if (law.name != "told" && law.name != "seek-warm") names.emplace_back(law.name);
  return names;
}

what_if_result what_if(std::string const& path, std::string const& law) {
  auto const known = laws_of_what_if();
  auto const bare = law.find_first_of("(+") == law.npos && law != "backoff";
  if (bare && std::ranges::find(known, law) == known.end()) {
    auto const* const why = sim::contender_named(law) != nullptr
                                ? "knows the limit, and a trace does not tell it"
                                : "no such law";
    throw fatal(exit_usage, fmt::format("--law {}: {}{}; it is one of {}", law, why,
                                        did_you_mean(law, known), fmt::join(known, ", ")));
  }
  auto const other =
      option_value("--law", law, [](std::string_view text) { return sim::contender_of(text); });
  return experiment(path, other).run();
}

}  // namespace headway::app
