/// A server behind the proxy: its limits, the requests that wait for it, and its wires.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "headway/random.hpp"
#include "pacing/lanes.hpp"
#include "proxy/config.hpp"
#include "proxy/fair_queue.hpp"
#include "proxy/figures.hpp"
#include "proxy/renewal.hpp"
#include "proxy/state.hpp"
#include "proxy/strict.hpp"
#include "proxy/wire.hpp"

namespace headway::app::proxy {

struct scope;

/// An objection that says when to come back.
struct refusal : objection {
  std::optional<duration> again{};
};

inline refusal being_stopped() {
  return {{503, "draining", "the proxy is being stopped"}, std::chrono::seconds(1)};
}

/// A request as a server knows it: it waits for its turn, or has had it.
class waiter {
 public:
  virtual void on_turn(time_point now) = 0;
  virtual void on_refused(refusal) = 0;  ///< it waits no more

  load what{};
  priority first = priority::normal;
  std::string client;  ///< whose turns it takes
  time_point deadline = never;
  bool told_patience = false;  ///< the deadline is the client's, rather than ours
  std::shared_ptr<scope> where{};

 protected:
  ~waiter() = default;

 private:
  friend class server;
  friend struct scope;
  enum class phase : std::uint8_t { nowhere, queued, at_door, again, flying };
  phase is_ = phase::nowhere;
  std::uint32_t number_ = 0;
  ticket id_{};
  fair_queue<waiter*>::place place_{};
  std::multimap<time_point, waiter*>::iterator due_{};
};

/// One limit of the server, with those that wait for it.
///
/// The lane knows one of them at a time, which stands at its door: the one that the fair queue says
/// goes next. A refused request keeps its ticket in the lane.
struct scope {
  lane* in = nullptr;
  lane_pin pin{};
  std::string name;
  fair_queue<waiter*> queue{};
  waiter* door = nullptr;
  std::size_t again = 0;  ///< wait for another turn
  time_point used{};
  time_point busy{};  // since then something waits or flies
  last_seconds<128> sent{}, throttled{}, waiting{};

  std::size_t waits() const noexcept { return queue.size() + again; }
  bool is_idle() const noexcept { return waits() == 0 && in->flying() == 0; }
};

/// Threads: one.
class server : public std::enable_shared_from_this<server> {
 public:
  server(asio::io_context&, upstream_config);
  server(server const&) = delete;
  server& operator=(server const&) = delete;

  /// Goes on where `before`, which had other settings for the same limit, ends: what waits there
  /// goes first, and the bounds hold for both together.
  void follow(time_point now, std::shared_ptr<server> before);

  upstream_config const& settings() const noexcept { return settings_; }
  profile const& speaks() const noexcept { return speaks_; }
  wires& connections() noexcept { return wires_; }
  duration wait_max() const noexcept { return pacing_.governor.hint_max; }
  /// Its headers that commands print; nullptr where there are none.
  renewal* renews() noexcept { return renewal_.get(); }
  /// Whether the bodies of its answers say what they have cost.
  bool tells_costs() const noexcept { return tells_costs_; }

  /// Lets a request wait for its turn, which may come before this returns. A refusal: it does not.
  std::optional<refusal> join(time_point now, waiter&, lane_key const&);
  /// It is gone: it gives back what it took, wherever it is. Harmless where it is nowhere.
  void leave(time_point now, waiter&);
  /// The head of the answer to one that had its turn, which says by itself what it is.
  void hear(time_point now, waiter&, judgement const& head, int status);
  /// The answer to one that had its turn. Where the ruling is retry it waits already.
  lane::settled settle(time_point now, waiter&, judgement const&, lane::attempt_end const&);
  /// It met a closed connection, and needs another turn.
  void turn_again(time_point now, waiter&);
  /// One that had its turn was refused a connection, as by a server that is being restarted. It
  /// waits with the others until one that asks now and then is not, or is told in vain; where it is
  /// not to wait it is told at once.
  void refused_connection(time_point now, waiter&, std::string_view why, bool waits);
  /// Whether it refused the last connection.
  bool is_absent() const noexcept { return absent_.has_value(); }
  /// A connection was made.
  void reached(time_point now);
  /// Hands out the turns that have come.
  void pump(time_point now, scope&);

  /// Each second.
  void tick(time_point now, std::map<std::string_view, duration>& where_time_went);
  /// Those that wait are refused.
  void refuse_waiting(time_point now, refusal const&);
  void keep();
  /// Begins with what another knows of the same limit.
  void know(server& before);
  /// Its lanes; what they are ordered holds from wake() on.
  lanes& paces() noexcept { return lanes_; }
  void wake(time_point now);
  /// Nothing waits or flies.
  bool idle() const noexcept { return waiting_ == 0 && flying_ == 0 && !wires_.asks(); }
  std::size_t waiting() const noexcept { return waiting_; }
  /// Requests that ended in the last minute.
  std::uint64_t ended_lately(time_point now) const noexcept {
    return count.requests.sum(second_of(now), 59);
  }
  /// What holds back the first that waits in one of its scopes; `none`: nothing waits.
  reason held_by(time_point now) const;

  /// How long a request that came now would wait; nullopt where that is not known.
  std::optional<duration> expected_wait(time_point now, scope const&, priority,
                                        std::string_view client) const;
  /// When there is room in a full queue, about.
  duration room_in(time_point now, scope const&) const;

  upstream_state state(time_point now);

  // What is counted as it happens.
  struct counts {
    last_seconds<64> requests, throttled, failed, refused, left;
    latest_times waits;
    upstream_state since{};  ///< the part that counts from the start
    std::uint64_t hints_ignored = 0;
  } count;
  void served(time_point now, std::string const& client);

 private:
  void fill_door(time_point now, scope&);
  void empty_door(time_point now, scope&);
  void arm(time_point now);
  void expire(time_point now);
  /// To one that has waited for as long as it may.
  refusal overdue(time_point now, waiter const&) const;
  void refuse_parked(time_point now, scope&);
  refusal hold_of(time_point now, scope const&) const;
  bool lacks_credential() const noexcept { return renewal_ && renewal_->wanted(); }
  bool follows(time_point now);
  /// What holds every scope back, in a word; "": nothing does.
  std::string_view obstacle(time_point now);
  refusal without_credential(time_point now) const;
  refusal absent() const;
  void wake_all(time_point now);
  void renewed(time_point now);
  void number(waiter&);
  void unnumber(waiter&);
  void wait_until(waiter&);
  void wait_no_more(waiter&);
  std::shared_ptr<scope> scope_of(time_point now, lane_key const&);
  std::string name_of(lane_key const&, lane const&) const;

  upstream_config const settings_;
  profile const speaks_;
  pacing_settings const pacing_;
  lanes lanes_;
  std::string law_;
  wires wires_;
  std::unique_ptr<renewal> renewal_;
  rng chance_;
  bool const tells_costs_;
  std::shared_ptr<server> before_;  // until what waits there has gone
  time_point opens_{}, last_turn_{};
  struct absence {
    time_point since, asks_at;
    duration gap;
    std::string why;
  };
  std::optional<absence> absent_;  // nothing listens there
  waiter const* asks_ = nullptr;   // whether it is back
  std::unordered_map<lane const*, std::shared_ptr<scope>> scopes_;
  std::vector<waiter*> waiters_;  // by number
  std::vector<std::uint32_t> free_;
  std::multimap<time_point, waiter*> due_;
  std::size_t waiting_ = 0, flying_ = 0;
  asio::steady_timer timer_;
  time_point armed_ = never;
  struct client_count {
    last_seconds<64> served;
    std::int64_t latest = 0;
  };
  std::map<std::string, client_count, std::less<>> clients_;
};

}  // namespace headway::app::proxy
