/// A lane: one limit of a server, as far as we know, and the queue before it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/hindrance.hpp"
#include "base/outcomes.hpp"
#include "headway/random.hpp"
#include "headway/shared/pace.hpp"
#include "pacing/ban.hpp"
#include "pacing/impasse.hpp"
#include "pacing/in_order.hpp"
#include "pacing/lately.hpp"
#include "pacing/quota_book.hpp"
#include "pacing/reset_unit.hpp"
#include "pacing/throughput.hpp"
#include "pacing/told_window.hpp"
#include "pacing/trace.hpp"
#include "provider/profile.hpp"

namespace headway::app {

inline constexpr std::string_view own_ceiling = "own ceiling";  // to people

/// What a request asks of a lane.
struct load {
  std::int64_t cost = 1;   ///< of the rate
  request_size size{};     ///< of the quotas
  int failures = 0;        ///< of it before, under another ticket …
  int throttles = 0;       ///< … as it had refusals
  bool turn_only = false;  ///< it is sent elsewhere, but takes a turn here: no quota, no answer
};

/// Decides for one limit what goes when: by its law, by the quotas that are told or set, by the
/// pace that other processes of the machine share, and not at all once it is stopped. Nothing else
/// writes its state. A request is a ticket here, with a number that its owner knows it by.
///
/// A round of sends is open(), next() until there is none, rest(). Threads: one.
class lane {
 public:
  struct parts {
    std::string account;     ///< that stop() is about
    std::string name;        ///< for people: without the credential
    bool renewable = false;  ///< it sends headers of --header-cmd
    traced_governor governor;
    quota_book quotas;
    profile const& speaks;
    bool knew = false;  ///< its law began with what an earlier run had learned
    duration wait_max;  ///< what holds it for longer parks it
    /// A server that wants to be left alone for longer is asked by one request after it.
    duration hold_max = duration::max();
  };
  explicit lane(parts);

  std::string const& account() const noexcept { return parts_.account; }
  std::string const& name() const noexcept { return parts_.name; }
  /// The name, as people know it.
  std::string const& title() const noexcept { return title_; }
  bool renewable() const noexcept { return parts_.renewable; }
  profile const& speaks() const noexcept { return parts_.speaks; }

  /// Queues a request. Refused as governor::submit() does, and with `cancelled` once it is stopped.
  std::variant<ticket, refused> submit(time_point now, load, std::uint32_t number);
  /// The request waits here no more once its turn comes: next() hands it back.
  void call_back(ticket) noexcept;

  /// Whether it is time for a round.
  bool due(time_point now) const noexcept { return wake() <= now && !parked(); }
  /// Begins a round. `may_send`: something is sent if its turn has come.
  void open(time_point now, bool may_send);
  /// What comes next in a round.
  struct turn {
    enum class kind : std::uint8_t {
      send,     ///< it has started
      never,    ///< it can never go, and its ticket is gone
      refused,  ///< it was refused, alone or as all that is left, for longer than wait_max, and its
                ///< ticket is gone
      elsewhere,  ///< it was called back, or has had the turn that it wanted; its ticket is gone
    };
    std::uint32_t number = 0;
    kind what = kind::send;
    std::string why{};  ///< of `never`, a sentence
  };
  std::optional<turn> next(time_point now, rng& chance);
  /// Ends a round; wake() is new.
  void rest(time_point now, bool may_send);

  /// What the caller knows of an attempt besides its judgement.
  struct attempt_end {
    int status = 0;             ///< 0: no answer
    time_point sent{};          ///< when it went
    bool says_nothing = false;  ///< of the limit
    bool may_repeat = true;
    std::string_view error{};  ///< what went wrong, if anything did
  };
  struct settled {
    outcome taught = outcome::success;
    decision ruling{};
    bool alone = false;  ///< as turn::kind::refused
  };
  /// The head of the answer to a request that was sent, which says by itself what the answer is: so
  /// much the sooner others may go. Its end is for settle().
  void hear(time_point now, ticket, judgement const& head, int status, fraction u);
  /// The answer to a request that was sent. Where it is stopped, nothing that would wait again
  /// keeps its ticket.
  settled settle(time_point now, ticket, judgement const&, attempt_end const&, fraction u);
  /// How its server tells its resets, as far as that is known.
  reset_unit const& resets() const noexcept { return resets_; }
  /// Returns what its law has found out, in words, or "".
  std::string findings() const;
  /// Whether a refusal of the caller by this status is a throttle's: see ban.
  bool bans(time_point now, int status) const noexcept {
    return ban_.says(status, now, parts_.wait_max);
  }
  /// Forgets a request, waiting or sent: it gives back what it took.
  void cancel(time_point now, ticket);

  /// A request that was sent at `sent` came to no connection: it is forgotten. `futile`: another
  /// attempt would end the same.
  void unreached(time_point now, ticket, time_point sent, std::string_view why, bool futile);
  /// There was a connection.
  void heard() noexcept { trouble_.heard(); }
  /// An attempt that was sent at `sent` has failed, its request's `first`. A server that has only
  /// failed so far is in an impasse.
  void failed(time_point now, time_point sent, bool first, std::string_view why);
  /// A request that was sent at `sent` has come to its end, by a status that refused it if that is
  /// not 0. True where every other would be refused as well, and it is to go again.
  bool ended(time_point now, time_point sent, final_outcome, int refused_by);
  /// Why it only probes its server, if it does.
  impasse const& trouble() const noexcept { return trouble_; }

  /// Nothing more goes here.
  void stop() noexcept { stopped_ = true; }
  bool stopped() const noexcept { return stopped_; }
  /// It asks for more patience than wait_max.
  bool parked() const noexcept { return parked_until_ != time_point::min(); }
  time_point parked_until() const noexcept { return parked_until_; }
  /// Until when its server wants to be left alone, where that is beyond hold_max.
  time_point asks_until() const noexcept { return asks_until_; }
  /// Goes on once that time has come.
  void resume(time_point now) noexcept {
    if (parked() && parked_until_ <= now) parked_until_ = time_point::min(), wake_ = now;
  }

  /// When to open the next round, if nothing happens before.
  time_point wake() const noexcept { return std::max(wake_, gathers_until_); }
  void wake_by(time_point at) noexcept { wake_ = std::min(wake_, at); }

  /// What holds back the first that waits; `none`: nothing waits, or it may go.
  held_back why(time_point now) const;
  /// Whether a `quota` that holds it back is a ceiling of its user's: --rate, --concurrency.
  bool is_ceiling(reason held) const noexcept {
    return held == reason::quota && held_.why == reason::none;
  }
  /// Returns what holds it back as people know it.
  std::string_view name_of(reason held) const noexcept {
    return is_ceiling(held) ? own_ceiling : to_string(held);
  }
  struct shown {
    reason why = reason::none;
    bool ceiling = false;  ///< see is_ceiling()
  };
  /// What held it back at the last look; `now` takes its place.
  shown look(reason now) noexcept { return std::exchange(shown_, {now, is_ceiling(now)}); }
  std::size_t waiting() const noexcept { return parts_.governor.waiting(); }
  /// The same, in words: with what went wrong lately, if that is why.
  hindrance hindered(time_point now) const;
  /// What goes wrong there makes it wait, rather than a limit that it has found.
  bool in_trouble(reason held) const noexcept { return plight(held) > hindrance::kind::turn; }
  /// What it has in flight, or will come back to it.
  int in_flight() const noexcept { return flying() + pins_; }
  /// What was sent there, and is not answered.
  int flying() const noexcept { return parts_.governor.in_flight(); }
  /// Until when one that knows nothing could be faster in its place.
  time_point busy_until() const noexcept;

  /// The last refusal that made its law send less.
  struct cut {
    time_point at{};
    std::string by{};  ///< the answer, in words
  };
  std::optional<cut> const& last_cut() const noexcept { return last_cut_; }

  any_law const& law_state() const noexcept { return parts_.governor.law_state(); }
  quota_book const& quotas() const noexcept { return parts_.quotas; }
  /// Other processes that share its pace.
  int company() const { return parts_.governor.company(); }
  /// What is known of the hosts that share its pace; nothing where none do.
  std::optional<fleet::standing> hosts() const { return parts_.governor.hosts(); }

  /// Holds back what waits, until it is resumed; what flies is not.
  void pause(time_point now, bool yes) noexcept;
  bool paused() const noexcept { return paused_since_ != never; }
  time_point paused_since() const noexcept { return paused_since_; }
  /// Its server refuses whatever it is asked, of late.
  bool refuses_all() const noexcept { return refused_in_a_row_ >= refused_in_a_row_told; }
  /// When it last accepted one.
  std::optional<time_point> const& accepted_at() const noexcept { return accepted_at_; }
  governor_settings const& ceilings() const noexcept { return parts_.governor.settings(); }
  /// Its user's ceilings from now on.
  void limit(time_point now, std::optional<gcra> const& rate, int in_flight_max);
  /// It leaves that share from now on, and shares this pace.
  void leave(time_point now, double share, shared_pace);
  /// There are no more calls: the trace is whole.
  void end() { parts_.governor.end(); }

 private:
  friend class lane_pin;

  static constexpr int refused_in_a_row_told = 8;

  struct entry {
    load what;
    std::uint32_t number = 0;
    quota_receipt receipt{};
    std::uint64_t attempt = in_order::none;  // its latest, as `through_` counts
    bool held = false;                       // by the quotas, since its last attempt …
    time_point held_until{};                 // … until then
    bool called_back = false;
    bool heard = false;  // the head of its answer
  };
  entry& of(ticket t) noexcept { return entries_[static_cast<std::uint32_t>(t)]; }
  bool exaggerates(judgement const&) const noexcept;
  /// What is made of it, where that is not what it says.
  std::optional<judgement> corrected(time_point now, judgement const&);
  judgement believed(time_point now, judgement);
  /// Whether not the law, but something else kept a good answer's request or the next one from
  /// going.
  bool held_elsewhere(time_point now, entry&) const noexcept;
  void look_at_others(time_point now, bool may_send);
  hindrance::kind plight(reason held) const noexcept;
  hindrance hindered_by(held_back const&, time_point now) const;

  parts parts_;
  std::string title_;
  std::vector<entry> entries_{};  // by the ticket's low half
  held_back held_{};              // what the quotas hold the next request back for
  impasse trouble_{};
  ban ban_{};
  reset_unit resets_{};
  told_window window_{};
  throughput through_{};
  lately lately_{};
  std::optional<cut> last_cut_{};
  std::optional<time_point> accepted_at_{};
  shown shown_{};
  int refused_in_a_row_ = 0;
  time_point wake_ = time_point::min();
  time_point gathers_until_ = time_point::min();
  time_point parked_until_ = time_point::min();
  time_point asks_until_ = time_point::min();  // until then one at a time asks again
  time_point paused_since_ = never;            // never: it is not
  bool stopped_ = false;
  int pins_ = 0;
};

/// Keeps a lane from being evicted while a request will come back to it.
class lane_pin {
 public:
  lane_pin() = default;
  explicit lane_pin(lane& to) noexcept : to_(&to) { ++to.pins_; }
  lane_pin(lane_pin&& other) noexcept : to_(std::exchange(other.to_, nullptr)) {}
  lane_pin& operator=(lane_pin other) noexcept {
    std::swap(to_, other.to_);
    return *this;
  }
  ~lane_pin() {
    if (to_ != nullptr) --to_->pins_;
  }

  lane* get() const noexcept { return to_; }
  explicit operator bool() const noexcept { return to_ != nullptr; }

 private:
  lane* to_ = nullptr;
};

}  // namespace headway::app
