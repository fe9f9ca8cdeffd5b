/// The quota book: what is left of a server's named quotas, and what a request takes of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headway/fair_share.hpp"
#include "headway/governor.hpp"
#include "headway/http/advice.hpp"
#include "headway/time.hpp"
#include "pacing/cost_model.hpp"
#include "pacing/rolling_count.hpp"
#include "provider/quota_units.hpp"

namespace headway::app {

/// A quota that the caller sets: `units` a `period`. Beyond `burst` at once a request goes when
/// those before it are paid off, so that a period admits at most `units`, `burst` and one request.
struct quota_ceiling {
  std::string name;
  double units = 0;
  duration period{};
  double burst = 0;
  friend bool operator==(quota_ceiling const&, quota_ceiling const&) = default;
};

/// "tokens=90k/min", "tokens=1.5M/h:20k". Throws std::invalid_argument, whose text says what is
/// wrong and what is allowed.
quota_ceiling parse_quota(std::string_view text);

/// "tokens=5M": an amount, not a rate. Throws as parse_quota does.
quota_units parse_amount(std::string_view text);

/// What is known of a request before it goes.
struct request_size {
  double bytes = 0;                     ///< of its body
  std::vector<quota_units> given{};     ///< what it costs, by the caller
  std::vector<quota_units> reserved{};  ///< what it allows its answer to cost, beside its own size
};

/// What the book did for a request that went.
struct quota_receipt {
  struct entry {
    std::uint32_t quota = 0;
    double cost = 0;    ///< estimated
    double mark = 0;    ///< what had been taken of it, this included
    double beside = 0;  ///< what flew of it then
    bool told = false;  ///< its answer has said what remains
  };
  std::vector<entry> entries{};
  time_point sent{};
  bool open = false;
};

/// Knows the quotas of one scope: those that the server tells (limit, remaining and reset, by
/// name) and those that the caller sets; and learns what requests cost where that is not stated.
///
/// A request goes when every quota has room for it. What the server told last holds, less what
/// went since; a quota whose reset moves away as it is used refills all the time, and one whose
/// refusals tell a wait that is sooner than it; another one refills at its reset. Costs that are
/// not given are estimated high, and put right by the next answer, so that nothing of the quota is
/// lost. A policy that is told without what remains is a ceiling for each window of its length; one
/// of concurrent requests bounds those in flight; of several partitions of a quota the one told
/// last is ours. Where what remains falls faster than they say, they are raised. An answer's count
/// is taken to be as old as the answer: later than it can be. Of a window that others use, too, a
/// part goes and the rest is left to them (fair_share); and since resets are told in seconds,
/// rounded up, one request asks at the soonest that was told whether it is back. No clock, no I/O.
/// Threads: distinct objects safe. Source: platform.openai.com and docs.anthropic.com on rate
/// limits, as of 2026-06.
class quota_book {
 public:
  /// per_byte: rules of thumb of what a byte of a request's body costs.
  explicit quota_book(std::span<quota_ceiling const> ceilings = {},
                      std::span<quota_units const> per_byte = {});

  /// Spends that part of the ceilings from now on: the rest is for hosts that share them.
  void take_part(time_point now, double part) noexcept;
  /// Takes whether others share its owner's pace from now on. These are no others to leave a part
  /// to, and this book does not know what they send: it leaves none.
  void share_pace(bool yes) noexcept { shares_pace_ = yes; }

  struct held {
    std::string_view quota{};              ///< that binds; valid as long as the book
    time_point until = time_point::min();  ///< `never`: until an answer
    reason why = reason::quota;            ///< or `others`: what is left is left to them
  };
  /// What holds the request back, and until when: not later than `now` where it may go. Nothing is
  /// left to others for longer than `patience`.
  held ready_at(time_point now, request_size const&, duration patience = duration::max()) const;

  /// Until when a book that knows nothing could let something go sooner.
  time_point busy_until() const noexcept;

  /// Why it can never go, a sentence; nullopt where it can.
  std::optional<std::string> never_fits(request_size const&) const;

  /// It goes.
  quota_receipt take(time_point now, request_size const&);
  /// Returns what it was expected to cost of a quota: by the caller, else by the book; 0: neither
  /// knew.
  double expected(quota_receipt const&, request_size const&, std::string_view name) const noexcept;
  /// It did not go, or will not be answered.
  void forget(quota_receipt&) noexcept;

  struct answered {
    std::span<http::quota const> quotas{};
    std::span<settled_cost const> costs{};
    bool refused = false;
    std::optional<duration> hold{};  ///< what a refusal asks for
  };
  /// The head of its answer, before its end.
  void hear(time_point now, quota_receipt&, std::span<http::quota const>);
  /// Its answer. Returns whether it was refused because of a quota that is kept here.
  bool settle(time_point now, quota_receipt&, request_size const&, answered const&);

  /// What is worth keeping for another run: costs that were learned, limits that refill.
  std::vector<known_quota> knows() const;
  /// Begins with what an earlier run knew, `age` ago; what answers tell takes its place.
  void remember(time_point now, std::span<known_quota const>, duration age);

  /// Returns whether others have taken of a window that is spent now.
  bool shared() const noexcept;

  /// What was learned, for people; "" if nothing.
  std::string findings() const;

  /// A quota as it stands now.
  struct standing {
    std::string_view name;  ///< valid as long as the book
    double limit = 0, remaining = 0;
    std::optional<duration> reset{};  ///< until all of it is back
  };
  /// Returns all quotas that are told or set.
  std::vector<standing> look(time_point now) const;

  /// Whether this quota is kept here, so that the governor need not obey it.
  bool keeps(http::quota const&) const noexcept;

 private:
  static constexpr std::size_t quotas_max = 16;

  /// What the server told.
  struct told_quota {
    double limit = 0;
    double level = 0;  ///< at `as_of`, less what flies
    time_point as_of{};
    double per_second = 0;     ///< 0: refills at `full` only, as far as we know
    time_point full = never;   ///< when all of it is back; never: not known
    bool refills = false;      ///< all the time
    double remaining = 0;      ///< as it was told; of a window the least, since it only falls there
    double began = 0;          ///< what had been taken when its window began
    double mark = 0;           ///< of the request whose answer told …
    time_point sent{};         ///< … and when that went
    double used_before = 0;    ///< earlier, and …
    double speed_before = 0;   ///< … what that was by its time to the reset
    time_point full_before{};  ///< … whose reset was this
    double charged = 0;        ///< as what remained shows, lately …
    double estimated = 0;      ///< … for what should have cost so much
    int compared = 0;
    bool remembered = false;  ///< by an earlier run, and not told since

    double level_at(time_point now) const noexcept;
  };
  struct ceiling {
    double per_second = 0;
    double burst = 0;
    double units = 0;  ///< a period
    double level = 0;
    time_point as_of{};

    void refill(time_point now) noexcept;
  };
  /// A told window, as far as others use it, too.
  struct common_window {
    fair_share share{};
    time_point ends = never;   ///< by the soonest reset that was told of it
    time_point about = never;  ///< it does, if it began as soon as the one before had ended
    bool asked = false;        ///< … whether it is back, since `ends`

    /// Returns whether others have taken of it lately.
    bool known() const noexcept {
      constexpr auto any = std::numeric_limits<std::uint64_t>::max();
      return share.shared() || share.held_until(any) != time_point::min();
    }
  };
  /// A policy that was told without what remains of it.
  struct policy {
    double limit = 0;
    rolling_count sent;
  };
  struct quota {
    std::string name;
    std::string partition{};
    http::counted counts = http::counted::unsaid;
    bool ours = true;  // of its partitions the one told last
    std::optional<told_quota> told{};
    std::optional<policy> alone{};    // in force while `told` is not there
    std::optional<double> at_once{};  // requests in flight
    std::optional<ceiling> set{};
    cost_model whole{};  ///< by size
    cost_model sized{};  ///< of the part that size makes up
    double taken = 0;
    double flies = 0;   ///< of that what has no answer: perhaps counted, perhaps not
    double dearer = 1;  ///< the server charges so many times what answers say, at least 1
    time_point hold = time_point::min();
    time_point by_wait = never;  ///< since when a wait that was told shows that it refills …
    int in_vain = 0;             ///< … and what went since and was refused again, in a row
    std::optional<common_window> common{};  ///< from the second window on
  };

  quota* named(std::string_view name, std::string_view partition);
  quota* find_or_make(std::string_view name, std::string_view partition = {});
  quota const* costed_as(std::string_view name) const noexcept;
  std::optional<double> cost_of(quota const&, request_size const&) const noexcept;
  void listen_to_policy(time_point now, quota&, http::quota const&) const;
  static void listen(time_point now, quota&, http::quota const&, quota_receipt::entry const& went,
                     time_point sent);
  static void hear_wait(time_point now, quota&, http::quota const&, double wanted, time_point sent,
                        duration wait);
  static void share(time_point now, quota&, http::quota const&, bool begins,
                    quota_receipt::entry const& went, time_point sent);
  /// Takes what an answer tells of one quota that is kept here. Returns that, and what the request
  /// took of it.
  std::pair<quota*, quota_receipt::entry> take_told(time_point now, quota_receipt&,
                                                    http::quota const&, bool accepted);
  void close(quota_receipt&, bool counted) noexcept;

  std::vector<quota> quotas_;
  int flying_ = 0;
  double part_ = 1;  // of the ceilings
  bool shares_pace_ = false;
};

}  // namespace headway::app
