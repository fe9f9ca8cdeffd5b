#include "whatif/what_if.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <unordered_map>

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
  duration latency{};
  attempt_result result{};
  fraction u_start = 0;
  fraction u_finish = 0;
  bool known = false;
  bool cancelled = false;  // the run took the attempt back
};

struct scope {
  any_governor governor;
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
  friend bool operator>(reply const& a, reply const& b) {
    return std::tie(a.at, a.sequence) > std::tie(b.at, b.sequence);
  }
};

class experiment {
 public:
  experiment(std::string const& path, shipped_law const& law)
      : reader_(path),
        law_(law),
        settings_(reader_.head().settings),
        recorded_(reader_.head().began),
        other_(reader_.head().began) {
    settings_.throttled = law.throttled;
  }

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
      auto const& s = entry.second;
      return s.closed && s.arriving == 0 && s.governor.in_flight() == 0 &&
             s.governor.waiting() == 0;
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
    s.stopped = s.governor.parked(now).has_value();
    while (auto const turn = s.governor.next(now)) {
      auto const what = next_answer(s);
      if (!what) {
        s.stopped = true;
        return;
      }
      s.governor.start(now, *turn, what->u_start);
      other_.sent(now);
      if (now < what->sent) {
        ++ahead_;
        ahead_max_ = std::max(ahead_max_, what->sent - now);
      }
      replies_.push({now + what->latency, sequence_++, number, *turn, *what});
    }
    s.wake = s.governor.wakeup(now);
  }

  void end_request() {
    --live_;
    other_.ended();
  }

  std::optional<answer> next_answer(scope& s) {
    while ((s.answers.empty() || !s.answers.front().known) && read()) {
    }
    if (s.answers.empty() || !s.answers.front().known) return std::nullopt;
    auto const first = s.answers.front();
    s.answers.pop_front();
    ++s.answers_used;
    return first;
  }

  /// Takes one line more of the trace; false at its end.
  bool read() {
    auto const call = reader_.next();
    if (!call) return false;
    auto const& c = *call;
    using kind = traced_call::kind;
    if (c.what == kind::scope) {
      scopes_.insert_or_assign(c.scope,
                               scope{.governor = any_governor(law_.backoff, law_.law, settings_)});
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
        s.answers.push_back({.sent = c.at, .u_start = c.u});
        recorded_.sent(c.at);
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
        break;
    }
    return true;
  }

  trace_reader reader_;
  shipped_law law_;
  governor_settings settings_;
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

what_if_result what_if(std::string const& path, shipped_law const& law) {
  return experiment(path, law).run();
}

}  // namespace headway::app
