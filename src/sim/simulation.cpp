#include "headway/sim/simulation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "headway/fleet/board.hpp"
#include "headway/fleet/member.hpp"
#include "headway/sim/event_queue.hpp"
#include "headway/sim/histogram.hpp"
#include "headway/sim/sampling.hpp"

namespace headway::sim {
namespace {

enum class kind : std::uint8_t {
  join,
  leave,
  submit,
  toggle,
  wake,
  arrival,
  reply,
  head,
  report,     // is due
  reported,   // at the board
  answered,   // back at the member
  collected,  // at the board
  combined,   // at the member
  published,  // at the board
  pushed,     // at a member: there are turns to hear of
  cut,        // at a member: another was refused
  ended,      // at shared processors, perhaps
};

struct event {
  kind what;
  outcome came = outcome::success;
  std::uint8_t tries = 0;  // that an SDK has made inside the call
  std::uint32_t client = 0;
  ticket id{};
};

/// A request on shared processors.
struct request_at_work {
  event answer;
  time_point arrived{};
};

/// A refusal of a member, as the others hear of it.
struct cut {
  std::uint64_t version = 0, epoch = 0;
  time_point held{};
};

/// A client: its governor, what it still has to ask for, and what came of it.
struct client {
  client_governor governor;
  group const* of = nullptr;
  rng chance;           // of its governor, its workload and its wire
  fraction places = 0;  // of what is poisoned at random
  time_point armed = never;
  std::int64_t unasked = 0;  // requests not yet submitted
  std::int64_t number = 0;   // of the next one in the group's work
  int pool = 1;              // workers that share it
  duration connect{};
  bool hears_ends_only = false;
  bool omits_poisoned = false;
  bool on = true;  // of on/off arrivals
  bool gone = false;
  std::int64_t asked = 0, done = 0, ended = 0;
  time_point held_until = time_point::min();  // by a hint
  std::vector<time_point> since{};            // when it was submitted, by a ticket's low half
  std::vector<std::int64_t>
      costs{};               // … and what it costs the server; empty where that is always 1
  std::vector<hint> told{};  // … and what comes with its answer; empty where nothing is told
  std::vector<std::int64_t> poison{};  // … and the attempts at a poisoned one; `clean` of another
  time_point joined{};
  std::vector<std::int32_t> done_in{};                 // by shares_slice; empty for a lone client
  std::shared_ptr<fleet::member> seat{};               // null: it paces alone
  time_point speaks = never;                           // its next report
  std::deque<fleet::report> reports{};                 // that are on their way, …
  std::deque<fleet::board::reply> answers{};           // … and the answers to them
  bool combines = false;                               // the last of them that came said so
  std::optional<fleet::board::collected> collected{};  // it combines, …
  bool missed_cut = false;                             // … and a cut came meanwhile
  std::uint64_t made_of = 0;                           // the version that it made its own of
  std::deque<cut> cuts{};                              // of others, on their way
};

/// The standard mode of the AWS SDKs: full jitter from 1 s × 2^k, up to 20 s.
constexpr full_jitter sdk_backoff{.base = 1s, .cap = 20s};

constexpr std::int64_t clean = -1;

/// Whether the server refuses the `n`th of a client's requests whatever the load. `places` are the
/// client's.
bool is_poisoned(group const& g, std::int64_t n, fraction places) {
  if (g.poisoned == 0) return false;
  auto const* const loop = std::get_if<closed_loop>(&g.work);
  auto const all = loop != nullptr ? loop->requests : std::get<batch>(g.work).requests;
  auto const before = [&](std::int64_t k) { return (2 * g.poisoned * k + all) / (2 * all); };
  auto const since = [&](std::int64_t first) { return n >= first && n < first + g.poisoned; };
  switch (g.poisoned_at) {
    case placing::spread:
      return before(n + 1) > before(n);
    case placing::random:
      return unit(derive(places, static_cast<std::uint64_t>(n))) * static_cast<double>(all) <
             static_cast<double>(g.poisoned);
    case placing::start:
      return since(0);
    case placing::middle:
      return since((all - g.poisoned) / 2);
  }
  return false;
}

constexpr duration slice = 100ms;  // of the goodput kept for the recovery time
constexpr duration shares_slice = 1s;

class world {
 public:
  world(scenario const& s, contender const& law, simulation_options const& o)
      : scenario_(s), options_(o), server_(server_of(s, o.seed)), chance_(o.seed) {
    if (s.fleet) way_to_board_ = s.fleet->round_trip / 2;
    if (auto const begins = law.make(s);
        auto const* const g = std::get_if<default_governor>(&begins))
      board_ = fleet::board(g->law_state());  // one for all
    for (auto const& g : s.groups) add(g, law);
    if (options_.timeline_step > 0ns) figures_.timeline.reserve(256);
  }

  figures run() {
    auto const end = later(time_point{}, scenario_.lasts);
    while (!events_.empty() && wanted_ != 0) {
      auto const [at, e] = events_.pop();
      if (at > end) break;
      now_ = at;
      if (++figures_.events > options_.events_max)
        throw std::runtime_error(scenario_.name + ": more than " +
                                 std::to_string(options_.events_max) +
                                 " events: it does not come to an end");
      digest(static_cast<std::uint64_t>(e.what) << 8 | static_cast<std::uint64_t>(e.came),
             e.client);
      happen(e);
    }
    return conclude(end);
  }

 private:
  static behaviour server_of(scenario const& s, std::uint64_t seed) {
    auto b = s.server;
    b.drifts.seed = derive(seed, b.drifts.seed);
    // Where ends are not known on arrival, a client's timeout is a gateway's patience.
    auto const hurry = [&](limit& l) {
      if (auto* const processors = std::get_if<shared>(&l); processors != nullptr && s.net.timeout)
        processors->patience = std::min(processors->patience, *s.net.timeout);
    };
    std::ranges::for_each(b.limits, hurry);
    std::ranges::for_each(b.schedule, hurry, &step::becomes);
    return b;
  }

  // ── members ────────────────────────────────────────────────────────────────────────────────

  void add(group const& g, contender const& subject) {
    auto const law = g.law.empty() ? subject : contender_of(g.law);
    // A law that is one worker is run as a pool of them, which share the client's requests.
    auto const made = law.make(scenario_);
    auto const* const shared = scenario_.fleet && !g.background && g.law.empty()
                                   ? std::get_if<default_governor>(&made)
                                   : nullptr;
    auto const pool = shared != nullptr ? scenario_.fleet->members
                      : std::holds_alternative<batch>(g.work)
                          ? std::clamp(law.pool, 1, g.in_flight_max)
                          : 1;
    for (int i = 0; i < g.clients; ++i)
      for (int worker = 0; worker < pool; ++worker) {
        auto const index = static_cast<std::uint32_t>(clients_.size());
        clients_.push_back({.governor = law.make(scenario_), .of = &g, .chance = chance_.split()});
        auto& c = clients_.back();
        c.number = worker;
        c.places = derive(options_.seed, static_cast<std::uint64_t>(i));
        c.connect = way(g, i);
        c.pool = pool;
        if (shared != nullptr) seat(c, *shared);
        set_ceilings(c);
        c.hears_ends_only = law.hears_ends_only;
        c.omits_poisoned = law.omits_poisoned;
        if (auto const* b = std::get_if<batch>(&g.work)) {
          c.unasked = b->requests / pool + (worker < b->requests % pool ? 1 : 0);
          if (!g.background) wanted_ += c.unasked;
        } else {
          auto const* loop = std::get_if<closed_loop>(&g.work);
          auto const ends = loop != nullptr && loop->requests != closed_loop{}.requests;
          c.unasked = ends ? part_of(c, loop->requests) : std::numeric_limits<std::int64_t>::max();
          if (loop != nullptr && part_of(c, loop->workers) == 0) c.unasked = 0;
          if (!g.background && ends)
            wanted_ += c.unasked;
          else if (!g.background)
            endless_ = true;
        }
        auto const joins = c.joined = time_point(g.joins + i * g.stagger);
        events_.push(joins, {.what = kind::join, .client = index});
        if (g.leaves != duration::max())
          events_.push(time_point(g.leaves), {.what = kind::leave, .client = index});
      }
    if (endless_) wanted_ = -1;
  }

  /// The part of a client's work that one of its pool has.
  static std::int64_t part_of(client const& c, std::int64_t all) {
    return all / c.pool + (c.number < all % c.pool ? 1 : 0);
  }

  /// Sets the ceilings of its group, or its part of them.
  static void set_ceilings(client& c) {
    auto const set = [&](auto& governor) {
      auto const& own = governor.settings();
      auto rate = c.of->rate_ceiling;
      if (rate) rate->interval *= c.pool;
      auto const in_flight = part_of(c, c.of->in_flight_max);
      governor.limit(rate ? rate : own.rate_ceiling,
                     std::min(own.in_flight_max, static_cast<int>(in_flight)));
    };
    std::visit(set, c.governor);
  }

  /// Makes it a member of the fleet, with the same settings.
  void seat(client& c, default_governor const& alone) {
    auto with = alone.settings();
    with.first_alone = 0ns;  // the first turn of the fleet is alone
    any_law const begins{alone.law_state()};
    c.seat =
        std::make_shared<fleet::member>(static_cast<fleet::member_id>(clients_.size()), begins);
    c.governor = fleet_governor({}, {.own = begins, .with = c.seat}, with);
  }

  /// Of the `i`th client of a group.
  duration way(group const& g, int i) const {
    auto const [nearest, farthest] = g.connect.value_or(spread{scenario_.net.connect});
    return nearest + (farthest - nearest) * i / std::max(1, g.clients - 1);
  }

  // ── what happens ────────────────────────────────────────────────────────────────────────────

  void happen(event const& e) {
    auto& c = clients_[e.client];
    if (e.what == kind::wake && c.armed != now_) return;  // outdated: armed for earlier since
    if (auto const resumes = resumes_at(*c.of); resumes > now_ && !at_others(e.what)) {
      if (e.what == kind::wake) c.armed = resumes;
      if (e.what == kind::report && c.speaks == now_) c.speaks = resumes;
      return events_.push(resumes, e);
    }
    switch (e.what) {
      case kind::join:
        join(e.client, c);
        break;
      case kind::leave:
        c.gone = true;
        return;
      case kind::toggle:
        toggle(e.client, c);
        break;
      case kind::submit:
        submit(e.client, c);
        if (c.on) next_submission(e.client, c);
        break;
      case kind::wake:
        c.armed = never;
        break;
      case kind::arrival:
        arrive(e, c);
        return;
      case kind::ended:
        end_what_has_ended();
        return;
      case kind::head:
        hear(e, c);
        break;
      case kind::reply:
        reply(e, c);
        break;
      default:
        if (!converse(e, c)) return;
    }
    pump(e.client, c);
    if (options_.audit && !c.gone) audit(c);
  }

  /// Until when the clients of `g` sleep; not later than now if they are awake.
  time_point resumes_at(group const& g) const {
    auto from = time_point(g.suspended_at);
    if (now_ < from) return now_;
    if (g.suspended_each > 0ns) from += (now_ - from) / g.suspended_each * g.suspended_each;
    return later(from, g.suspended_for);
  }

  /// Whether it happens at the server or at the board, and not at the client.
  static bool at_others(kind what) {
    return what == kind::arrival || what == kind::reported || what == kind::collected ||
           what == kind::published || what == kind::ended;
  }

  void join(std::uint32_t index, client& c) {
    if (auto const* b = std::get_if<batch>(&c.of->work)) {
      if (b->rate > 0) return next_submission(index, c);
      while (c.unasked > 0) submit(index, c);
    } else if (auto const* loop = std::get_if<closed_loop>(&c.of->work)) {
      auto const workers = part_of(c, loop->workers);
      for (std::int64_t i = 0; i < workers && c.unasked > 0; ++i) submit(index, c);
    } else {
      next_submission(index, c);
      auto const& open = std::get<open_arrivals>(c.of->work);
      if (open.on > 0ns && open.off > 0ns)
        events_.push(now_ + open.on, {.what = kind::toggle, .client = index});
    }
  }

  void toggle(std::uint32_t index, client& c) {
    auto const& open = std::get<open_arrivals>(c.of->work);
    c.on = !c.on;
    if (c.on) next_submission(index, c);
    events_.push(now_ + (c.on ? open.on : open.off), {.what = kind::toggle, .client = index});
  }

  void next_submission(std::uint32_t index, client& c) {
    if (c.unasked <= 0 || c.gone) return;
    double rate = 0;
    bool poisson = false;
    if (auto const* b = std::get_if<batch>(&c.of->work)) {
      rate = b->rate;
    } else if (auto const* open = std::get_if<open_arrivals>(&c.of->work)) {
      rate = open->rate;
      poisson = open->poisson;
    }
    if (rate <= 0) return;
    auto const mean = from_seconds(c.seat ? c.pool / rate : 1 / rate);
    events_.push(now_ + (poisson ? exponential{mean}.draw(c.chance()) : mean),
                 {.what = kind::submit, .client = index});
  }

  void submit(std::uint32_t index, client& c) {
    if (c.gone || c.unasked <= 0) return;
    --c.unasked;
    ++c.asked;
    if (!c.of->background) ++figures_.requests;
    auto const uniform = c.of->cost_mean == 1 && c.of->cost_cv == 0;
    auto const cost = uniform ? 1 : draw_cost(*c.of, c.chance());
    bool const poisoned =
        is_poisoned(*c.of, std::exchange(c.number, c.number + c.pool), c.places) ||
        (!uniform && server_.never_admits(cost));
    if (poisoned) lose(c);
    if (poisoned && c.omits_poisoned) {
      ++c.ended;
      return turn_to_the_next(index, c, now_);
    }
    auto const terms = request_terms{.cost = c.of->cost_known ? cost : 1};
    auto const admitted = std::visit([&](auto& g) { return g.submit(now_, terms); }, c.governor);
    auto const* const id = std::get_if<ticket>(&admitted);
    if (id == nullptr) {  // the client's own governor will never admit it
      ++c.ended;
      if (!poisoned) lose(c);
      return turn_to_the_next(index, c, now_ + 1s);
    }
    auto const slot = static_cast<std::uint32_t>(*id);
    if (slot >= c.since.size()) c.since.resize(slot + 1);
    c.since[slot] = now_;
    if (poisoned || slot < c.poison.size()) {
      if (slot >= c.poison.size()) c.poison.resize(slot + 1, clean);
      c.poison[slot] = poisoned ? 0 : clean;
    }
    if (uniform) return;
    if (slot >= c.costs.size()) c.costs.resize(slot + 1);
    c.costs[slot] = cost;
  }

  /// A worker whose request was not sent at all.
  void turn_to_the_next(std::uint32_t index, client const& c, time_point at) {
    if (std::holds_alternative<closed_loop>(c.of->work) && c.unasked > 0)
      events_.push(at, {.what = kind::submit, .client = index});
  }

  /// A request will never be done. One that is poisoned is lost from the start, so that nothing
  /// waits for it; its ticket may stay open.
  void lose(client const& c) {
    if (c.of->background) return;
    ++figures_.given_up;
    if (wanted_ > 0) --wanted_;
  }

  /// The attempts at a poisoned request so far; null where it is none.
  static std::int64_t* poison(client& c, ticket id) {
    auto const slot = static_cast<std::uint32_t>(id);
    return slot < c.poison.size() && c.poison[slot] != clean ? &c.poison[slot] : nullptr;
  }

  static std::int64_t draw_cost(group const& g, fraction u) {
    auto const drawn = g.cost_cv > 0 ? g.cost_mean * lognormal_share(g.cost_cv, u) : g.cost_mean;
    return std::max<std::int64_t>(1, std::llround(drawn));
  }

  void pump(std::uint32_t index, client& c) {
    if (c.gone) return;
    std::visit(
        [&](auto& g) {
          if (c.seat) look_at(*c.seat, g, now_);
          while (auto const turn = g.next(now_)) {
            if (c.seat && !c.seat->claim(now_, g.cost_of(*turn), c.chance())) break;
            if (options_.audit) audit_start(c, g);
            g.start(now_, *turn, c.chance());
            send({.what = kind::arrival, .client = index, .id = *turn}, c);
          }
          if (c.seat) speak(index, c, g);
          auto const wake = g.wakeup(now_);
          if (wake == never || wake >= c.armed) return;
          c.armed = later(wake, scale(scenario_.net.wakes_late, c.chance()));
          events_.push(c.armed, {.what = kind::wake, .client = index});
        },
        c.governor);
  }

  // ── the fleet ──────────────────────────────────────────────────────────────────────────────

  /// Arms the next report. A member that has nothing left to do leaves.
  void speak(std::uint32_t index, client& c, auto& g) {
    if (c.seat->left()) return;
    look_at(*c.seat, g, now_);
    if (c.unasked == 0 && c.ended == c.asked && g.in_flight() == 0) c.seat->leave(now_);
    auto const at = std::max(c.seat->speaks_at(), now_);
    if (at >= c.speaks) return;
    c.speaks = at;
    events_.push(at, {.what = kind::report, .client = index});
  }

  void tell(std::uint32_t index, kind what) {
    events_.push(now_ + way_to_board_, {.what = what, .client = index});
  }

  bool is_lost() { return scenario_.fleet->lost > 0 && unit(chance_()) < scenario_.fleet->lost; }

  /// Carries out a step of the fleet's protocol; returns whether the member may have turns now.
  bool converse(event const& e, client& c) {
    if (!c.seat || (c.gone && !at_others(e.what))) return false;
    switch (e.what) {
      case kind::report:
        if (c.speaks != now_) return false;  // outdated
        c.speaks = never;
        if (c.seat->speaks_at() > now_) return true;
        c.reports.push_back(c.seat->speak(now_));
        ++figures_.exchanges;
        tell(e.client, kind::reported);
        return true;
      case kind::reported:
        exchange(e.client, c);
        return false;
      case kind::answered: {
        auto const came = take_first(c.answers);
        c.seat->hear(now_, came.granted, came.told, came.combine);
        c.combines = came.combine;
        if (c.combines) collect(e.client, c);
        return true;
      }
      case kind::cut: {
        auto const told = take_first(c.cuts);
        c.seat->cut(now_, told.version, told.epoch, told.held);
        c.missed_cut = c.collected.has_value();
        if (c.combines) collect(e.client, c);
        return true;
      }
      case kind::collected:
        c.collected = board_.collect();
        tell(e.client, kind::combined);
        return false;
      case kind::combined: {
        c.made_of = c.collected->valid.version;
        c.collected->valid =
            fleet::combine(std::move(c.collected->valid), c.collected->reports, now_);
        tell(e.client, kind::published);
        return false;
      }
      case kind::published:
        publish(c);
        if (c.missed_cut) c.seat->wake(now_);
        return std::exchange(c.missed_cut, false);
      case kind::pushed:
        c.seat->wake(now_);
        return true;
      default:
        return false;
    }
  }

  template <class T>
  static T take_first(std::deque<T>& all) {
    auto first = std::move(all.front());
    all.pop_front();
    return first;
  }

  /// The board takes a report, answers, and tells the others of a refusal.
  void exchange(std::uint32_t index, client& c) {
    auto const r = take_first(c.reports);
    if (is_lost()) return;
    auto answer = board_.exchange(now_, r);
    if (r.refused && answer.fresh)
      for (std::uint32_t i = 0; i < clients_.size(); ++i)
        if (auto& other = clients_[i]; i != index && other.seat && other.seat->hears_cuts()) {
          other.cuts.push_back({answer.granted.version, *r.refused, r.held});
          tell(i, kind::cut);
        }
    if (c.seat->urgent() && answer.fresh)
      for (std::uint32_t i = 0; i < clients_.size(); ++i)
        if (i != index && clients_[i].combines) tell(i, kind::pushed);
    if (is_lost()) return;
    c.answers.push_back(std::move(answer));
    tell(index, kind::answered);
  }

  void collect(std::uint32_t index, client& c) {
    if (c.collected) return;
    c.collected.emplace();
    tell(index, kind::collected);
  }

  void publish(client& c) {
    auto const next = std::exchange(c.collected, std::nullopt)->valid;
    auto const before = board_.valid();
    if (!board_.publish(now_, c.seat->id(), c.made_of, next)) return;
    for (auto const id : fleet::to_wake(next, before, now_))
      tell(static_cast<std::uint32_t>(id - 1), kind::pushed);
  }

  void send(event const& arrival, client& c, duration after = {}) {
    if (!c.of->background) {
      ++figures_.attempts;
      ++moment_.attempts;
      if (auto* const attempts = poison(c, arrival.id)) {
        ++figures_.poisoned_attempts;
        figures_.poisoned_most = std::max(figures_.poisoned_most, ++*attempts);
      }
    }
    auto const travel = c.connect + scale(scenario_.net.jitter, c.chance());
    events_.push(now_ + after + travel, arrival);
  }

  void arrive(event const& e, client& c) {
    auto const slot = static_cast<std::uint32_t>(e.id);
    auto const cost = c.costs.empty() ? 1 : c.costs[slot];
    auto const poisoned = poison(c, e.id) ? std::optional(c.of->poisoned_shows) : std::nullopt;
    auto const a = server_.arrive(now_, cost, chance_(), poisoned);
    event answer{.what = kind::reply, .came = a.what, .client = e.client, .id = e.id};
    if (scenario_.hints != telling::nothing) {
      if (slot >= c.told.size()) c.told.resize(slot + 1);
      c.told[slot] = {.retry_after = a.retry_after};
      if (scenario_.hints == telling::remaining)
        c.told[slot] = {a.retry_after, a.remaining, a.reset};
    }
    auto const& net = scenario_.net;
    auto const lost = !a.comes() || (net.lost > 0 && unit(c.chance()) < net.lost);
    if (a.number && !lost) {
      at_work_.emplace(*a.number, request_at_work{answer, now_});
      return await_end();
    }
    auto const timeout = net.timeout.value_or(lost ? lost_after : duration::max());
    if (lost || a.after > timeout) {
      answer.came = outcome::failure;
      if (!lost && a.what == outcome::success && a.head < timeout && !c.hears_ends_only)
        events_.push(now_ + a.head, {.what = kind::head, .client = e.client, .id = e.id});
      else if (slot < c.told.size())
        c.told[slot] = {};
      events_.push(now_ + timeout, answer);
      return;
    }
    if (a.what == outcome::throttle && e.tries < c.of->sdk_retries) {
      if (!c.of->background) count(a.what);
      auto again = e;
      auto const rest = sdk_backoff.delay(again.tries++, {}, c.chance());
      return send(again, c, a.after + rest);
    }
    if (a.what == outcome::success) {
      take_success(answer, c, a.after);
      if (a.head < a.after && answer.came == outcome::success && !c.hears_ends_only)
        events_.push(now_ + a.head, {.what = kind::head, .client = e.client, .id = e.id});
    }
    events_.push(now_ + a.after, answer);
  }

  /// Takes a good answer that took the server so long; its client may misread it.
  void take_success(event& answer, client& c, duration took) {
    auto const misread = scenario_.net.misread;
    if (misread > 0 && unit(c.chance()) < misread) answer.came = outcome::throttle;
    if (!c.of->background) server_latency_.add(took);
  }

  /// Wakes when a request on shared processors may have ended.
  void await_end() {
    auto const next = server_.next_end();
    if (next >= next_end_) return;
    next_end_ = next;
    events_.push(next, {.what = kind::ended});
  }

  void end_what_has_ended() {
    if (next_end_ != now_) return;  // outdated
    next_end_ = never;
    while (auto const end = server_.take(now_)) {
      auto const found = at_work_.find(end->number);
      if (found == at_work_.end()) continue;  // its answer is lost
      auto [answer, arrived] = found->second;
      at_work_.erase(found);
      auto& c = clients_[answer.client];
      if (end->late) {
        answer.came = outcome::failure;
      } else if (answer.came == outcome::success) {
        take_success(answer, c, now_ - arrived);
      }
      events_.push(now_, answer);
    }
    await_end();
  }

  static attempt_result came_of(event const& e, client const& c) {
    attempt_result result{.what = e.came};
    if (auto const slot = static_cast<std::uint32_t>(e.id); slot < c.told.size())
      result.advice = c.told[slot];
    return result;
  }

  void hear(event const& e, client& c) {
    if (c.gone) return;
    std::visit([&](auto& g) { g.learn(now_, e.id, came_of(e, c), c.chance()); }, c.governor);
  }

  void reply(event const& e, client& c) {
    if (c.gone) return;
    auto const result = came_of(e, c);
    auto const ruling =
        std::visit([&](auto& g) { return g.finish(now_, e.id, result, c.chance()); }, c.governor);
    auto const wait = result.advice.retry_after;
    auto const alone = std::visit([&](auto& g) { return g.refused_alone(e.id); }, c.governor);
    if (wait && !alone)  // else it holds this request only
      c.held_until = std::max(c.held_until, later(now_, *wait));
    if (!c.of->background) count(e.came);
    if (&c == clients_.data() && figures_.points.size() < options_.points_max)
      figures_.points.push_back(
          {now_.time_since_epoch(), delay_after(ruling, c), e.came == outcome::success});
    if (ruling.what == verdict::retry || ruling.what == verdict::park) return;
    ++c.ended;
    if (ruling.what == verdict::done && e.came == outcome::success)
      succeed(e, c);
    else if (poison(c, e.id) == nullptr)
      lose(c);
    if (auto const* loop = std::get_if<closed_loop>(&c.of->work)) {
      if (loop->think == 0ns)
        submit(e.client, c);
      else if (c.unasked > 0)
        events_.push(now_ + loop->think, {.what = kind::submit, .client = e.client});
    }
  }

  /// Until the client may send again: this request, or where that has ended another.
  duration delay_after(decision const& ruling, client const& c) const {
    auto const paced =
        std::visit([](auto const& g) { return g.law_state().ready_at(1); }, c.governor);
    auto const again = ruling.what == verdict::retry && ruling.until != never ? ruling.until : now_;
    return std::max({again, paced, now_}) - now_;
  }

  void succeed(event const& e, client& c) {
    ++c.done;
    if (c.of->background) return;
    if (wanted_ > 0) --wanted_;
    ++figures_.done;
    figures_.completion = now_.time_since_epoch();
    latency_.add(now_ - c.since[static_cast<std::uint32_t>(e.id)]);
    if (clients_.size() > 1) {
      auto const second = static_cast<std::size_t>(now_.time_since_epoch() / shares_slice);
      if (second >= c.done_in.size()) c.done_in.resize(second + 1);
      ++c.done_in[second];
    }
    auto const i = static_cast<std::size_t>(now_.time_since_epoch() / slice);
    if (scenario_.recovery_from > 0ns) {
      if (i >= goodput_.size()) goodput_.resize(i + 1);
      ++goodput_[i];
    }
  }

  // ── what must always hold ───────────────────────────────────────────────────────────────────

  [[noreturn]] void broken(char const* what) const {
    throw std::logic_error(scenario_.name + ", seed " + std::to_string(options_.seed) + ", " +
                           std::to_string(to_seconds(now_.time_since_epoch())) + " s: " + what);
  }

  /// No request goes before the law's pace, beyond its window, or while a hint holds the scope.
  void audit_start(client const& c, auto const& g) const {
    if (g.in_flight() >= g.law_state().allowed()) broken("sent beyond the window");
    if (g.law_state().ready_at(1) > now_) broken("sent before its pace");
    if (c.held_until > now_) broken("sent while a hint held it");
  }

  /// Every request is waiting, in flight or ended, and one that waits alone will be woken.
  void audit(client const& c) const {
    std::visit(
        [&](auto const& g) {
          auto const open = static_cast<std::int64_t>(g.waiting()) + g.in_flight();
          if (open != c.asked - c.ended) broken("a request was lost or ended twice");
          if (g.waiting() > 0 && g.in_flight() == 0 && c.armed == never && c.speaks == never)
            broken("requests wait and nothing will wake them");
        },
        c.governor);
  }

  // ── what is noted ───────────────────────────────────────────────────────────────────────────

  void count(outcome came) {
    tell_time();
    switch (came) {
      case outcome::success:
        ++moment_.accepted;
        break;
      case outcome::throttle: {
        ++moment_.throttled;
        ++figures_.throttled;
        auto const second = now_.time_since_epoch() / duration(1s);
        throttled_in_second_ = second == second_ ? throttled_in_second_ + 1 : 1;
        second_ = second;
        figures_.worst_second = std::max(figures_.worst_second, throttled_in_second_);
        break;
      }
      default:
        ++moment_.broken;
        ++figures_.broken;
    }
  }

  /// Closes the moments of the timeline that have passed.
  void tell_time() {
    if (options_.timeline_step == 0ns) return;
    while (now_.time_since_epoch() >= moment_.at + options_.timeline_step) {
      std::visit(
          [&](auto const& g) {
            moment_.window = g.law_state().allowed();
            if constexpr (requires { g.law_state().ssthresh(); })
              moment_.ssthresh = g.law_state().ssthresh();
            moment_.in_flight = g.in_flight();
          },
          clients_.front().governor);
      figures_.timeline.push_back(moment_);
      moment_ = {.at = moment_.at + options_.timeline_step};
    }
  }

  void digest(std::uint64_t what, std::uint32_t client) noexcept {
    auto const at = static_cast<std::uint64_t>(now_.time_since_epoch().count());
    figures_.digest = mix(figures_.digest + at + (what << 48) + (std::uint64_t{client} << 20));
  }

  figures conclude(time_point end) {
    figures_.finished = wanted_ == 0;
    if (!figures_.finished) {
      now_ = std::min(end, std::max(now_, end));
      figures_.completion = scenario_.lasts;
    }
    tell_time();
    figures_.p50 = latency_.quantile(0.5);
    figures_.p99 = latency_.quantile(0.99);
    figures_.server_p99 = server_latency_.quantile(0.99);
    figures_.recovery = recovery();
    double sum = 0, squares = 0, measured = 0, background_done = 0, background_asked = 0;
    for (auto const& c : clients_) {
      auto const done = static_cast<double>(c.done);
      if (c.of->background) {
        background_done += done;
        background_asked += static_cast<double>(c.asked);
        continue;
      }
      sum += done;
      squares += done * done;
      ++measured;
    }
    if (squares > 0) figures_.jain = sum * sum / (measured * squares);
    compare_shares();
    if (background_asked > 0) figures_.background_share = background_done / background_asked;
    figures_.digest = mix(figures_.digest ^ chance_());  // the unseed: one more draw
    return std::move(figures_);
  }

  void compare_shares() {
    auto const end = std::min(later(time_point{}, scenario_.lasts), now_);
    auto const from = end - std::min(shares_window, end.time_since_epoch());
    auto const first = static_cast<std::size_t>(from.time_since_epoch() / shares_slice);
    double sum = 0, squares = 0, clients = 0, least = std::numeric_limits<double>::max();
    for (auto const& c : clients_) {
      if (c.of->background || c.gone || c.joined > from) continue;
      double done = 0;
      for (auto i = first; i < c.done_in.size(); ++i) done += c.done_in[i];
      sum += done;
      squares += done * done;
      least = std::min(least, done);
      ++clients;
    }
    if (clients < 2 || sum == 0) return;
    figures_.jain_late = sum * sum / (clients * squares);
    figures_.smallest_share = least * clients / sum;
  }

  /// From the change of capacity until a second's goodput reaches 90 % of what it is in the end.
  duration recovery() const {
    if (scenario_.recovery_from == 0ns) return {};
    auto const from = static_cast<std::size_t>(scenario_.recovery_from / slice);
    constexpr std::size_t second = 1s / slice;
    if (goodput_.size() < from + 2 * second) return scenario_.lasts - scenario_.recovery_from;
    auto const settled = from + (goodput_.size() - from) / 2;
    double late = 0;
    for (auto i = settled; i < goodput_.size(); ++i) late += goodput_[i];
    late *= static_cast<double>(second) / static_cast<double>(goodput_.size() - settled);
    double in_second = 0;
    for (auto i = from; i < goodput_.size(); ++i) {
      in_second += goodput_[i];
      if (i >= from + second) in_second -= goodput_[i - second];
      if (in_second >= 0.9 * late) return duration(slice) * static_cast<std::int64_t>(i + 1 - from);
    }
    return scenario_.lasts - scenario_.recovery_from;
  }

  scenario const& scenario_;
  simulation_options const options_;
  server server_;
  rng chance_;  // the server's, and the source of everybody else's
  std::vector<client> clients_;
  fleet::board board_;
  duration way_to_board_{};
  event_queue<event> events_;
  std::map<std::uint64_t, request_at_work>
      at_work_;                  // on shared processors, by the server's number
  time_point next_end_ = never;  // the event for it that is pending
  time_point now_{};
  std::int64_t wanted_ = 0;  // measured requests to be done; -1: there is no end to them
  bool endless_ = false;

  figures figures_;
  moment moment_;
  histogram latency_, server_latency_;
  std::vector<std::int32_t> goodput_;  // done, by slice
  std::int64_t second_ = -1, throttled_in_second_ = 0;
};

}  // namespace

/// The contest of a scenario as a simulation: a write in vain is a throttle.
static figures contested(optimistic_lock contest, contender const& law, std::uint64_t seed) {
  contest.backoff = law.backoff;
  auto const came = simulate(contest, seed);
  return {.requests = contest.clients,
          .attempts = came.calls,
          .throttled = came.calls - contest.clients,
          .done = contest.clients,
          .completion = came.time,
          .finished = true,
          .digest = mix(static_cast<std::uint64_t>(came.calls) ^
                        static_cast<std::uint64_t>(came.time.count()))};
}

figures simulate(scenario const& s, contender const& law, simulation_options options) {
  if (s.contest) return contested(*s.contest, law, options.seed);
  return world(s, law, options).run();
}

}  // namespace headway::sim
