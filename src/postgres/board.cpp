#include "headway/postgres/board.hpp"

#include <openssl/sha.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "headway/driver/clock.hpp"
#include "headway/driver/entropy.hpp"
#include "headway/fleet/blob.hpp"
#include "headway/postgres/schema.hpp"
#include "headway/random.hpp"

namespace headway::postgres {
namespace {

using bytes = std::vector<std::byte>;
using numbers = std::span<std::int64_t const>;
using blobs = std::span<bytes const>;

constexpr patience waits{.connect = 2s, .statement = 3s};
constexpr duration leaves_within = 500ms;
constexpr duration connects_again = 300ms;
constexpr duration together = 25ms;           // reports that are due so soon go along
constexpr duration members_are_back = 500ms;  // after the engine is
constexpr duration looks_again = 10ms;        // a pace without news of its own
constexpr duration good_round_trip = 20ms;
constexpr std::size_t round_trips_kept = 50;
constexpr duration leap = 1s;          // a clock that differs by more is another
constexpr duration learns_again = 5s;  // what differs, …
constexpr duration keeps_again = 60s;  // … and what does not
constexpr double differs = 0.02;
constexpr std::uint64_t successes_min = 3;  // that a limit takes to be one

bytes bytes_of(std::string_view text) {
  auto const view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}
std::string_view text_of(std::span<std::byte const> b) {
  return {reinterpret_cast<char const*>(b.data()), b.size()};
}

duration micros(std::int64_t n) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max() / 1000;
  return std::chrono::microseconds(std::clamp(n, -most, most));
}

/// An instant of the engine's clock. Throws `error` where none can be reckoned with: it would
/// saturate, and each turn be due.
time_point engine_time(std::int64_t n) {
  constexpr std::int64_t most = 7'000'000'000'000'000;  // in the year 2191
  if (n < 0 || n > most)
    throw error(failure::refused, "", "the clock of the database is wrong by centuries");
  return time_point(micros(n));
}
std::int64_t micros_of(time_point t) {
  return std::chrono::duration_cast<std::chrono::microseconds>(t.time_since_epoch()).count();
}

std::string hex(std::span<std::byte const> b) {
  std::string text;
  for (auto const one : b)
    for (int const shift : {4, 0})
      text += "0123456789abcdef"[std::to_integer<int>(one) >> shift & 15];
  return text;
}

std::string channel_of(bytes const& key) {
  return "headway1_" + hex(std::span(key).first(16));
}

/// 128 random bits, as a UUID is written.
std::string random_token() {
  std::array const all{entropy(), entropy()};
  return hex(std::as_bytes(std::span(all)));
}

bytes digest(std::span<std::byte const> salt, std::string_view key) {
  std::string all(text_of(salt));
  all += key;
  bytes out(SHA256_DIGEST_LENGTH);
  SHA256(reinterpret_cast<unsigned char const*>(all.data()), all.size(),
         reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

/// Takes the next word away; returns its number, 0 where it is none.
std::int64_t number_in(std::string_view& words) {
  words.remove_prefix(std::min(words.find_first_not_of(" ,"), words.size()));
  auto const word = words.substr(0, words.find_first_of(" ,"));
  words.remove_prefix(word.size());
  std::int64_t n = 0;
  std::from_chars(word.data(), word.data() + word.size(), n);
  return n;
}

/// Blobs that stand after each other, each after its length.
std::vector<fleet::report> reports_in(std::span<std::byte const> all) {
  std::vector<fleet::report> reports;
  while (all.size() >= 4) {
    std::size_t size = 0;
    for (auto const b : all.first(4)) size = size << 8U | std::to_integer<std::size_t>(b);
    all = all.subspan(4);
    size = std::min(size, all.size());
    if (auto r = fleet::read_report(text_of(all.first(size)))) reports.push_back(std::move(*r));
    all = all.subspan(size);
  }
  return reports;
}

/// The engine's clock, as far as round trips tell it.
class engine_clock {
 public:
  /// Takes that it was `then` between two instants of ours; returns whether it is another clock
  /// now.
  bool heard(time_point sent, time_point answered, time_point then) {
    one const now{answered - sent, then - (sent + (answered - sent) / 2)};
    auto const jumped =
        !all_.empty() && std::chrono::abs(now.ahead - best().ahead) > leap + now.round_trip / 2;
    if (jumped) all_.clear();
    if (!all_.empty() && now.round_trip > good_round_trip && best().round_trip < now.round_trip)
      return jumped;
    all_.push_back(now);
    if (all_.size() > round_trips_kept) all_.pop_front();
    return jumped;
  }
  duration ahead() const { return best().ahead; }

 private:
  struct one {
    duration round_trip{}, ahead{};
  };
  one best() const { return *std::ranges::min_element(all_, {}, &one::round_trip); }
  std::deque<one> all_;
};

/// Wakes the thread of a board, whatever it waits for.
class bell {
 public:
  void ring() {
    std::lock_guard const lock(guard_);
    if (at_ != nullptr) at_->wake();
    rung_.notify_one();
  }
  /// From now on it waits for that.
  void hang_on(connection* at) {
    std::lock_guard const lock(guard_);
    at_ = at;
  }
  template <class Until>
  void wait(duration d, Until enough) {
    std::unique_lock lock(guard_);
    rung_.wait_for(lock, d, enough);
  }

 private:
  std::mutex guard_;
  std::condition_variable rung_;
  connection* at_ = nullptr;
};

/// A member of one scope, between the thread that paces by it and that of the board.
struct membership {
  membership(bytes k, std::string of, any_law const& law, std::shared_ptr<bell> b)
      : key(std::move(k)), title(std::move(of)), begins(law), rings(std::move(b)) {}

  bytes const key;
  std::string const title;
  any_law const begins;
  std::shared_ptr<bell> const rings;

  std::mutex guard;  // of what follows
  std::optional<fleet::member> member{};
  fleet::ceilings with{};
  duration ahead{};          // of the engine's clock before ours
  time_point told{};         // nothing before is to be told any more; by the engine, as all below
  time_point looks = never;  // the board, again
  time_point held = time_point::min();  // as others know
  fleet::grant granted{};
  int absent = 0;
  double excess = 0;  // of these
  bool combines = false;
  bool leaves = false;
  std::optional<time_point> away{};
  std::string trouble{};
  bool polls = true;

  // Of the board's thread alone.
  bool listens = false;
  std::optional<fleet::state> made{};  // the valid one, if it made that
  std::map<fleet::member_id, std::pair<std::uint64_t, std::string>> own{};  // as published
  learned kept{};
  time_point kept_at = time_point::min();
  std::optional<time_point> lost{};  // the state; since then it may come back

  time_point engine(time_point t) const {
    if (t == never || t == time_point::min()) return t;
    return later(t, ahead);
  }
  time_point ours(time_point t) const {
    if (t == never || t == time_point::min()) return t;
    return later(t, -ahead);
  }
  /// Begins anew, as another member.
  void begin(fleet::member_id id, duration clock_ahead) {
    auto const hold = member ? ours(member->held_until()) : time_point::min();
    ahead = clock_ahead;
    member.emplace(id, begins, with);
    if (hold != time_point::min()) member->hold(engine(hold));
    told = held = time_point::min();
    looks = never;
    granted = {};
    combines = false;
    made.reset();
    own.clear();
    if (leaves) member->leave(engine(steady_now()));
  }
};

/// The pace of a membership: what it does is done under its guard, by the engine's clock.
class seat final : public fleet::hosted_pace {
 public:
  explicit seat(std::shared_ptr<membership> m) : m_(std::move(m)), law_(m_->begins) {}
  ~seat() override {
    act(steady_now(), [&](time_point now) {
      m_->leaves = true;
      m_->member->leave(now);
    });
  }

  void refresh(time_point now, int out, int waiting) noexcept override {
    act(now, [&](time_point t) {
      m_->member->refresh(t, out, waiting);
      law_ = m_->member->law();
      company_ = m_->member->company();
    });
  }
  bool claim(time_point now, std::int64_t cost, fraction u) noexcept override {
    act(now, [&](time_point) {
      if (m_->member->claim(m_->engine(now), cost, u))
        claimed_ = {m_->ours(m_->member->ready_at(cost)), m_->member->allowed()};
    });
    return claimed_.has_value();
  }
  void hold(time_point until) noexcept override {
    act(time_point::min(), [&](time_point) { m_->member->hold(m_->engine(until)); });
  }
  time_point held_until() const noexcept override {
    std::lock_guard const lock(m_->guard);
    return m_->ours(m_->member->held_until());
  }
  time_point look_again(time_point now) const noexcept override {
    return later(now, m_->polls ? looks_again : 1s);
  }
  int company() const noexcept override { return company_; }
  any_law const& law() const noexcept override { return law_; }
  time_point ready_at(std::int64_t cost) const noexcept override {
    if (claimed_) return claimed_->ready_at;
    std::lock_guard const lock(m_->guard);
    return m_->ours(m_->member->ready_at(cost));
  }
  double allowed() const noexcept override {
    if (claimed_) return claimed_->allowed;
    std::lock_guard const lock(m_->guard);
    return m_->member->allowed();
  }
  stamp take(time_point now, std::int64_t cost, fraction u) noexcept override {
    stamp s{};
    act(now, [&](time_point t) { s = m_->member->take(t, cost, u); });
    s.sent = now;
    claimed_.reset();
    return s;
  }
  void on_success(time_point now, sample const& s, fraction u) noexcept override {
    act(now, [&](time_point t) { m_->member->on_success(t, by_engine(s), u); });
  }
  void on_throttle(time_point now, sample const& s, resource r, fraction u) noexcept override {
    act(now, [&](time_point t) { m_->member->on_throttle(t, by_engine(s), r, u); });
  }
  void on_failure(time_point now, sample const& s, fraction u) noexcept override {
    act(now, [&](time_point t) { m_->member->on_failure(t, by_engine(s), u); });
  }
  void on_hint(time_point now, hint const& h) noexcept override {
    act(now, [&](time_point t) { m_->member->on_hint(t, h); });
  }

  fleet::standing look() const override {
    std::lock_guard const lock(m_->guard);
    auto const& g = m_->granted;
    return {.members = g.members,
            .unheard = m_->absent,
            .excess = m_->excess,
            .pace = g.pace,
            .share = g.pace / std::max(g.sharing, 1),
            .waits = g.version == 0,
            .coasts = m_->member->coasts(m_->engine(steady_now())),
            .combines = m_->combines,
            .away = m_->away,
            .trouble = m_->trouble};
  }
  void limit(fleet::ceilings const& with) override {
    act(steady_now(), [&](time_point) {
      m_->with = with;
      m_->member->limit(with);
    });
  }

 private:
  /// Calls f with the engine's time, which no report has told yet, and lets the board speak in
  /// time.
  template <class F>
  void act(time_point now, F f) const noexcept {
    bool sooner = false;
    {
      std::lock_guard const lock(m_->guard);
      f(std::max(m_->engine(now), m_->told));
      auto const due = m_->member->speaks_at();
      sooner = due < m_->looks;
      if (sooner) m_->looks = due;
    }
    if (sooner) m_->rings->ring();
  }
  sample by_engine(sample s) const {
    s.sent.sent = m_->engine(s.sent.sent);
    return s;
  }

  /// What was so when a turn was claimed: until it is taken, the board's thread changes nothing of
  /// it.
  struct promise {
    time_point ready_at{};
    double allowed = 0;
  };

  std::shared_ptr<membership> m_;
  std::optional<promise> claimed_{};
  any_law law_;  // as at the last look
  int company_ = 0;
};

}  // namespace

/// What a board and its thread have in common.
struct board::office {
  office(endpoint w, settings s) : where(std::move(w)), what(std::move(s)) {
    connect();
    thread = std::jthread([this] { work(); });
  }

  // ── the caller's threads ────────────────────────────────────────────────────────────────────

  std::shared_ptr<membership> take_in(std::string_view key, std::string title,
                                      any_law const& begins, fleet::ceilings const& with) {
    std::lock_guard const lock(guard);
    auto m = std::make_shared<membership>(digest(salt, key), std::move(title), begins, rings);
    m->with = with;
    m->polls = !what.news;
    m->begin(id, clock.ahead());
    m->away = away;
    all.push_back(m);
    std::ranges::sort(all, {}, [](auto const& one) -> bytes const& { return one->key; });
    rings->ring();
    return m;
  }

  void leave() {
    {
      std::lock_guard const lock(guard);
      ending = true;
      for (auto const& m : all) {
        std::lock_guard const inner(m->guard);
        m->leaves = true;
        m->member->leave(m->engine(steady_now()));
      }
    }
    rings->ring();
    std::unique_lock lock(guard);
    if (!has_ended.wait_for(lock, leaves_within, [&] { return ended; })) {
      lock.unlock();
      stop.request_stop();
      rings->ring();
    }
  }

  // ── its thread ──────────────────────────────────────────────────────────────────────────────

  void work() {
    while (true) {
      try {
        if (!session) {
          if (is_ending()) break;
          connect();
        }
        if (!attend()) break;
      } catch (std::exception const& e) {  // of the database or the system: it is tried again
        lose(e.what());
      }
    }
    std::lock_guard const lock(guard);
    ended = true;
    has_ended.notify_all();
  }

  bool is_ending() {
    std::lock_guard const lock(guard);
    return ending;
  }

  void connect() {
    connection made(where, waits, stop.get_token());
    ensure_schema(made, where);
    auto const sent = steady_now();
    auto const r = made.execute("select * from headway1.join($1, $2::uuid, $3, $4)",
                                {id, token, what.name, what.version});
    auto const answered = steady_now();
    std::lock_guard const lock(guard);
    session = std::move(made);
    rings->hang_on(&*session);
    auto const is = static_cast<fleet::member_id>(r.number(0, 0));
    auto const its = r.bytes(0, 1);
    salt.assign(its.begin(), its.end());
    auto const jumped = clock.heard(sent, answered, engine_time(r.number(0, 2)));
    for (auto const& m : all) m->listens = false;
    if (is != id || jumped) begin_anew(is);
  }

  /// All members begin anew, under another id. Requires: it is guarded.
  void begin_anew(fleet::member_id as) {
    id = as;
    for (auto const& m : all) {
      std::lock_guard const inner(m->guard);
      m->begin(id, clock.ahead());
    }
  }

  /// It connects again after a moment.
  void lose(std::string const& why) {
    rings->hang_on(nullptr);
    session.reset();
    {
      std::lock_guard const lock(guard);
      if (!away) away = steady_now();
      for (auto const& m : all) {
        std::lock_guard const inner(m->guard);
        m->away = away;
        m->trouble = why;
        m->combines = false;
      }
    }
    auto const moment = connects_again / 2 + scale(connects_again, chance());
    rings->wait(moment, [&] { return stop.stop_requested(); });
  }

  std::vector<std::shared_ptr<membership>> present() {
    std::lock_guard const lock(guard);
    return all;
  }

  /// Waits for what is due, and does it. Returns false when there is nothing more to do.
  bool attend() {
    auto const now = steady_now();
    auto due = never;
    std::vector<std::shared_ptr<membership>> speak;
    auto const everyone = present();
    for (auto const& m : everyone) {
      if (!m->listens) session->listen(channel_of(m->key));
      m->listens = true;
      std::lock_guard const inner(m->guard);
      m->looks = m->member->speaks_at();
      auto const at = m->ours(m->looks);
      due = std::min(due, at);
      if (at <= later(now, together)) speak.push_back(m);
    }
    if (everyone.empty() && is_ending()) return false;
    for (auto const& n : session->wait(std::max(due, now))) hear(n, everyone);
    if (due <= now) exchange(speak);
    return true;
  }

  void hear(notification const& n, std::vector<std::shared_ptr<membership>> const& everyone) {
    auto const at =
        std::ranges::find(everyone, n.channel, [](auto const& m) { return channel_of(m->key); });
    if (at == everyone.end()) return;
    auto& m = **at;
    std::string_view words = n.payload;
    auto const kind = words.substr(0, words.find(' '));
    words.remove_prefix(kind.size());
    std::lock_guard const inner(m.guard);
    auto const now = m.engine(steady_now());
    if (kind == "cut") {
      auto const by = number_in(words);
      auto const version = static_cast<std::uint64_t>(number_in(words));
      auto const epoch = number_in(words), hold = number_in(words);
      if (by == id) return;
      auto const held = hold > 0 ? time_point(micros(hold)) : time_point::min();
      m.held = std::max(m.held, held);
      if (epoch >= 0)
        m.member->cut(now, version, static_cast<std::uint64_t>(epoch), held);
      else
        m.member->hold(held);
      if (m.combines) m.member->wake(now);
    } else if (kind == "turns") {
      while (!words.empty())
        if (number_in(words) == id) m.member->wake(now);
    }
  }

  // ── a round trip ────────────────────────────────────────────────────────────────────────────

  /// What is told of all scopes, a column each.
  struct told {
    std::vector<bytes> keys{}, reports{};
    std::vector<std::int64_t> reported{}, epochs{}, holds{}, urgent{}, leave{}, has{}, keeps{};

    void add(membership& m) {
      std::lock_guard const inner(m.guard);
      auto const now = m.engine(steady_now());
      auto const& r = m.member->speak(now);
      m.told = std::max(m.told, r.at);
      keys.push_back(m.key);
      reports.push_back(bytes_of(fleet::to_blob(r)));
      reported.push_back(static_cast<std::int64_t>(r.number));
      epochs.push_back(r.refused ? static_cast<std::int64_t>(*r.refused) : -1);
      holds.push_back(r.held > m.held ? micros_of(r.held) : 0);
      urgent.push_back(m.member->urgent());
      m.held = std::max(m.held, r.held);
      leave.push_back(r.leaves);
      has.push_back(static_cast<std::int64_t>(m.granted.version));
      keeps.push_back(m.made ? static_cast<std::int64_t>(m.made->version) : 0);
    }
  };

  enum column {
    now_at,
    told_at,
    v,
    common,
    own,
    absent,
    combine,
    made_of,
    state_at,
    unheard,
    rate,
    excess = rate + 4
  };

  void exchange(std::vector<std::shared_ptr<membership>> const& those) {
    told t;
    for (auto const& m : those) t.add(*m);
    auto const sent = steady_now();
    auto const r = session->execute(
        "select * from headway1.exchange($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        {id, blobs(t.keys), numbers(t.reported), blobs(t.reports), numbers(t.epochs),
         numbers(t.holds), numbers(t.urgent), numbers(t.leave), numbers(t.has), numbers(t.keeps)});
    auto const answered = steady_now();
    if (r.size() != static_cast<int>(those.size()))
      throw error(failure::refused, "", "the database answers what no board does");
    auto const then = engine_time(r.number(r.size() - 1, now_at));
    {
      std::lock_guard const lock(guard);
      away.reset();
      for (auto const& m : all) {
        std::lock_guard const inner(m->guard);
        m->away.reset();
        m->trouble.clear();
      }
      if (clock.heard(sent, answered, then)) return begin_anew_elsewhere();
    }
    bool news = false;
    for (int i = 0; i < r.size(); ++i) news |= hear(*those[static_cast<std::size_t>(i)], r, i);
    for (int i = 0; i < r.size(); ++i)
      if (r.number(i, combine) != 0) {
        make_next(*those[static_cast<std::size_t>(i)], r, i);
        news = true;
      }
    std::lock_guard const lock(guard);
    std::erase_if(all, [](auto const& m) {
      std::lock_guard const inner(m->guard);
      return m->leaves && m->member->left();
    });
    if (news && what.news) what.news();
  }

  /// The engine's clock has jumped: what was planned by it is of no use.
  void begin_anew_elsewhere() {
    auto const r = session->execute("select * from headway1.join($1, $2::uuid, $3, $4)",
                                    {0, token, what.name, what.version});
    begin_anew(static_cast<fleet::member_id>(r.number(0, 0)));
  }

  bool hear(membership& m, rows const& r, int i) const {
    std::lock_guard const inner(m.guard);
    m.ahead = clock.ahead();
    m.absent = static_cast<int>(r.number(i, absent));
    m.excess = std::fmin(std::fmax(r.real(i, excess), 0), m.absent);
    m.combines = r.number(i, combine) != 0;
    auto const before = m.granted.version;
    if (!r.null(i, common)) {
      m.lost.reset();
      if (auto g = fleet::read_grant(text_of(r.bytes(i, common)), text_of(r.bytes(i, own))))
        m.granted = std::move(*g);
    }
    m.held = std::max(m.held, m.granted.held);
    m.member->hear(m.engine(steady_now()), m.granted,
                   static_cast<std::uint64_t>(r.number(i, told_at)), m.combines);
    return m.granted.version != before;
  }

  // ── the next state ──────────────────────────────────────────────────────────────────────────

  /// Returns whether it has the latest state, as far as it knows.
  static bool has_latest(membership const& m) {
    return m.made && m.granted.version == m.made->version;
  }

  /// Returns whether it may begin a state where the engine has lost that: all members coast, and
  /// are to be back by then, or those that are would have the turns of all. The one that has the
  /// latest state knows of the others, and need not wait.
  static bool may_begin(membership& m) {
    if (m.granted.version == 0 || has_latest(m)) return true;
    auto const now = steady_now();
    return now >= later(m.lost.value_or(m.lost.emplace(now)), members_are_back);
  }

  /// A state without members, of what is known without one.
  static fleet::state first_state(membership const& m, rows const& r, int i, time_point now) {
    fleet::state s;
    if (auto const* begins = std::get_if<seek>(&m.begins.choice)) s.law = *begins;
    learned known;
    if (!r.null(i, rate + 3))
      known = {
          .rate = r.real(i, rate), .slots = r.real(i, rate + 1), .latency = r.real(i, rate + 2)};
    if (m.granted.law) {  // a state was lost, and this is what it knew
      s.law = fleet::begun_anew(*m.granted.law);
    } else if (m.granted.pace > 0) {  // it is of another build, and this is what that allowed
      s.law.remember({.rate = m.granted.pace, .latency = known.latency}, 0s);
    } else if (known.rate > 0) {
      s.law.remember(known,
                     now - std::max(time_point{}, time_point(micros(r.number(i, rate + 3)))));
    }
    s.dealt = static_cast<std::uint64_t>(micros_of(now));  // turns of one that was lost are below
    return s;
  }

  fleet::state valid_state(membership& m, rows const& r, int i, time_point now) {
    auto const version = static_cast<std::uint64_t>(r.number(i, made_of));
    if (version != 0 && m.made && m.made->version == version) return std::move(*m.made);
    m.own.clear();
    if (version == 0 && has_latest(m)) return std::move(*m.made);
    if (version != 0)
      if (auto s = fleet::read_state(text_of(r.bytes(i, state_at)));
          s && s->version == version && s->at <= later(now, 2s))
        return std::move(*s);
    auto s = first_state(m, r, i, now);  // of another build, damaged, or of a clock that went back
    s.version = version;
    return s;
  }

  /// Where the board dropped reports, the next one says so.
  static void note_losses(fleet::state const& before, std::vector<fleet::report>& reports) {
    std::map<fleet::member_id, std::uint64_t> heard;
    for (auto const& m : before.members) heard[m.id] = m.heard;
    for (auto& r : reports) {
      auto const was = std::exchange(heard[r.from], r.number);
      if (was > 0 && r.number > was + 1) r.lost = true;
    }
  }

  void make_next(membership& m, rows const& r, int i) {
    if (r.number(i, made_of) == 0 && !may_begin(m)) return;
    auto const now = m.engine(steady_now());
    auto reports = reports_in(r.bytes(i, unheard));
    auto const before = valid_state(m, r, i, now);
    note_losses(before, reports);
    m.made.reset();
    auto next = fleet::combine(before, reports, now);
    std::vector<std::int64_t> ids, heards, wake;
    std::vector<bytes> owns;
    auto published = m.own;
    for (auto const& one : next.members) {
      std::pair<std::uint64_t, std::string> now_own{one.heard,
                                                    fleet::own_blob(fleet::grant_of(next, one.id))};
      auto& was = published[one.id];
      if (was == now_own) continue;
      was = std::move(now_own);
      ids.push_back(one.id);
      heards.push_back(static_cast<std::int64_t>(one.heard));
      owns.push_back(bytes_of(was.second));
    }
    for (auto const to : fleet::to_wake(next, before, now))
      if (to != id) wake.push_back(to);
    auto const mine = fleet::grant_of(next, id);
    auto const done = session->execute(
        "select headway1.publish($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        {m.key, m.title, id, r.number(i, made_of), static_cast<std::int64_t>(next.version),
         std::int64_t{(fleet::lease + fleet::delay_of(next.way)) / std::chrono::microseconds(1)},
         bytes_of(fleet::to_blob(next)), static_cast<int>(r.number(i, absent)), r.real(i, excess),
         bytes_of(fleet::common_blob(mine)), numbers(ids), numbers(heards), blobs(owns),
         numbers(wake)});
    if (done.number(0, 0) == 0) return m.own.clear();  // another was faster
    std::erase_if(published, [&](auto const& p) {
      return !std::ranges::binary_search(next.members, p.first, {}, &fleet::member_state::id);
    });
    m.own = std::move(published);
    m.made = std::move(next);
    {
      std::lock_guard const inner(m.guard);
      m.granted = mine;
      m.held = std::max(m.held, mine.held);
      m.member->hear(m.engine(steady_now()), mine, static_cast<std::uint64_t>(r.number(i, told_at)),
                     true);
    }
    keep(m, now);
  }

  /// Keeps what the law has learned, for those that begin without a state.
  void keep(membership& m, time_point now) {
    auto const& law = m.made->law;
    if (!law.met() || law.so_far.successes < successes_min) return;
    auto const knows = law.knows();
    auto const is_new = [](double is, double was) {
      return std::max(is, was) > std::min(is, was) * (1 + differs);
    };
    auto const changed = is_new(knows.rate, m.kept.rate) || is_new(knows.slots, m.kept.slots);
    if (now < later(m.kept_at, changed ? learns_again : keeps_again)) return;
    m.kept = knows;
    m.kept_at = now;
    session->execute("select headway1.learn($1, $2, $3, $4, $5)",
                     {m.key, m.title, knows.rate, knows.slots, knows.latency});
  }

  endpoint const where;
  settings const what;
  std::string const token = random_token();
  std::stop_source stop{};
  std::shared_ptr<bell> const rings = std::make_shared<bell>();

  // Of its thread; before that, of the constructor.
  rng chance{what.seed};
  std::optional<connection> session{};

  std::mutex guard;  // of what follows
  fleet::member_id id = 0;
  bytes salt{};
  engine_clock clock{};
  std::vector<std::shared_ptr<membership>> all{};  // by key
  std::optional<time_point> away{};
  bool ending = false, ended = false;
  std::condition_variable has_ended;

  std::jthread thread{};
};

board::board(endpoint where, settings s) {
  sigset_t every, before;  // signals are for the threads of the caller
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  try {
    office_ = std::make_unique<office>(std::move(where), std::move(s));
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

board::~board() {
  office_->leave();
}

std::shared_ptr<fleet::hosted_pace> board::join(std::string_view key, std::string title,
                                                any_law const& begins,
                                                fleet::ceilings const& with) {
  if (!std::holds_alternative<seek>(begins.choice)) return nullptr;
  return std::make_shared<seat>(office_->take_in(key, std::move(title), begins, with));
}

}  // namespace headway::postgres
