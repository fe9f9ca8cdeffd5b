#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "headway/suspicion.hpp"
#include "headway/time.hpp"

namespace headway {

/// Tells a request that the server refuses for a reason of its own from a limit that refuses all.
///
/// Once more requests were refused three times while others passed than such ones accepted later,
/// two for one, and where a tenth or more of those that were refused once are bad (`suspicion`;
/// most, for a first refusal), a refusal is the limit's with a probability p. Of such refusals the
/// limit's are as many as their p add up to, and one in five at least of first ones: so much is
/// heard of a limit, whatever is suspected. A refusal that is the request's own is so while others
/// are accepted, and for 30 s: then a server that is shut looks the same. At odds of 100 the
/// request is known to be bad.
///
/// One that is known to be bad is refused alone from its second refusal on, and so is one that is
/// refused a third time while more of the others are accepted than refused: it waits by itself, and
/// is named. After a refusal of its own any rests likewise, where most are bad or nothing was
/// accepted since the one before. Where only such requests are left, nothing is accepted between
/// their refusals: then it counts refusals in vain.
///
/// Where nine tenths of the latest answers are refusals, none is a request's own: whatever is
/// suspected, the pace is too fast.
///
/// Lines that are refused in their turn, one after another, may be alike: a tenant's block of a
/// file. So others are asked *aside*, before their turn: eight, and eight times as many as passed
/// at each next refusal. Once eight have passed, a refusal of one in its turn is its own. A server
/// that is shut refuses those aside, too.
///
/// Threads: a value. Source: design/003, "A request refused alone".
class blame {
 public:
  /// The refusals of one request.
  struct record {
    int refusals = 0;                       ///< so far …
    int telling = 0;                        ///< … after others had been accepted
    std::uint32_t lead_before = 0;          ///< of the scope, when it was refused last
    std::uint64_t accepted_before = 0;      ///< by all, when it was refused last
    time_point before = time_point::min();  ///< it went by then, and so did what had been accepted
    int row = 0;                            ///< refusals since anything was accepted …
    time_point row_since{};                 ///< … the first of them
    time_point alone_since = never;         ///< others were first accepted while it was refused
    std::uint64_t accepted_failed = 0;      ///< by all, when it failed last
    bool fails_alone = false;               ///< others were accepted between failures of it
    bool aside = false;                     ///< it is asked before its turn
    bool witnessed = false;                 ///< it went while others passed
    bool own = false;                       ///< it is bad
    bool rests = false;                     ///< it waits by itself, as one that may be bad
    /// Returns whether the server refuses this request, and accepts others.
    bool alone() const noexcept { return alone_since != never; }
    friend bool operator==(record const&, record const&) = default;
  };

  static constexpr int unlucky = 2;        ///< refusals that may be a limit's
  static constexpr std::size_t steps = 8;  ///< as many aside pass, and it is none
  static constexpr double certain = 100;   ///< odds at which a request is bad
  static constexpr int proof = 3;          ///< refusals of one request show that some are bad …
  static constexpr int disproof = 16;      ///< … and accepted ones not; so many, at most, count
  static constexpr double some =
      0.1;  ///< of those refused once are bad: their refusals are weighed
  static constexpr double least = 0.2;       ///< of first refusals are a limit's; 0: 12 % of good
                                             ///< lines refused, not 4; 1 / 3: 15 % bad 30, not 12
  static constexpr int seldom = 8;           ///< one of so many aside was refused before
  static constexpr int firsts_max = 8;       ///< first refusals in a row that may be their own
  static constexpr double latest = 64;       ///< answers, of which …
  static constexpr double nearly_all = 0.9;  ///< … so many are refusals: the pace is too fast
  static constexpr double few = 0.25;        ///< … or so many: what is refused thrice may be good
  static constexpr duration patience = 30s;  ///< with bad ones, while nothing is accepted

  /// Returns the record of a request that was refused so often before, under another ticket.
  record begin(int refusals) const noexcept { return {.refusals = refusals, .lead_before = lead_}; }
  /// Takes that it goes.
  void send(record& r) noexcept { r.witnessed = std::exchange(passed_last_, passes()); }

  /// Takes a success of what went at `sent`.
  void accept(record& r, time_point sent) noexcept {
    sample(r, false);
    lately_ -= lately_ / latest;
    if (std::exchange(r.telling, 0) >= proof) proven_ = std::max(proven_ - 2, -disproof);
    accepted_sent_ = std::max(accepted_sent_, sent);
    ++lead_;
    ++accepted_;
    in_vain_ = 0;
    firsts_ = 0;
    passed_ = r.aside ? passed_ + 1 : 0;
    if (!r.aside) wanted_ = 0;
  }
  /// Takes a refusal of what went at `sent`. Returns whether it is the request's own.
  bool refuse(time_point now, record& r, time_point sent) noexcept {
    sample(r, true);
    lately_ += (1 - lately_) / latest;
    bool const own = is_own(now, r) && lately_ < nearly_all;
    r.rests = own && !asides_pass(r) && r.refusals > 0 && (vain(r) || most_bad());
    if (sent >= heard_) compare(r);
    heard_ = std::max(heard_, now);
    refused_sent_ = std::max(refused_sent_, sent);
    r.before = std::max(accepted_sent_, sent);
    if (std::exchange(r.accepted_before, accepted_) != accepted_) r.row = 0;
    if (++r.row == 1) r.row_since = now;
    if (r.row == 2) ++in_vain_;
    bool const leads = static_cast<std::int32_t>(lead_ - r.lead_before) > 0;
    if (++r.refusals > unlucky && leads)
      r.alone_since = std::min(r.alone_since, now);
    else
      --lead_;
    if (r.own && r.refusals > 1) r.alone_since = std::min(r.alone_since, now);
    r.lead_before = lead_;
    return own;
  }
  /// Takes a failure, which `again` says is not the first. Returns whether it is the request's own:
  /// others were accepted since one before it.
  bool fail(record& r, bool again) const noexcept {
    r.fails_alone = r.fails_alone || (again && r.accepted_failed != accepted_);
    r.accepted_failed = accepted_;
    return r.fails_alone;
  }
  /// Forgets a request.
  void end(record const& r) noexcept {
    if (r.row > 1 && r.accepted_before == accepted_) --in_vain_;
  }

  /// Returns whether one is to be asked before its turn.
  bool wants_aside() const noexcept { return wanted_ > 0; }
  /// Returns whether that is one that was refused before, if there is such a one.
  bool wants_refused() const noexcept { return asked_ >= seldom - 1; }
  /// Takes one that is.
  void ask(record& r) noexcept {
    r.aside = true;
    --wanted_;
    if (r.refusals > 0) asked_ = 0;
  }

  /// Returns whether something was accepted that went after the last refused one.
  bool passes() const noexcept { return accepted_sent_ > refused_sent_; }
  /// Returns whether less than a quarter of the latest answers are refusals.
  bool refuses_few() const noexcept { return lately_ < few; }
  /// Returns whether most of the requests that were refused once are bad.
  bool most_bad() const noexcept { return bad_.strong(); }
  /// Returns whether anything was accepted.
  bool accepted_any() const noexcept { return accepted_ > 0; }
  /// Returns whether so many requests were refused twice since anything was accepted.
  bool in_vain(std::size_t requests) const noexcept { return in_vain_ >= requests; }

  friend bool operator==(blame const&, blame const&) = default;

 private:
  bool vain(record const& r) const noexcept { return r.refusals > 0 && accepted_sent_ <= r.before; }
  /// Returns whether an answer to it counts for the odds. A server that is shut refuses second
  /// attempts more often than first ones, since it was open then, too: only what went while others
  /// passed tells.
  bool fair(record const& r) const noexcept { return r.witnessed && !vain(r); }
  /// Returns whether it went in its turn, and those asked before theirs pass.
  bool asides_pass(record const& r) const noexcept { return !r.aside && passed_ >= steps; }
  bool is_own(time_point now, record& r) noexcept {
    bool const first = r.refusals == 0;
    if (first) ++firsts_;
    if (!vain(r) && ++r.telling == proof) ++proven_;
    r.own = r.own || (fair(r) && !first && bad_.odds(r.telling) > certain);
    bool const none = r.refusals > 0 && r.accepted_before == accepted_;
    bool const shut = none && now - r.row_since >= patience;  // perhaps
    if (shut || r.own || asides_pass(r)) return !shut;
    if (proven_ <= 0 || (first ? !most_bad() || firsts_ > firsts_max : bad_.bad() < some))
      return false;
    limits_ += std::max(1 / (1 + bad_.odds(std::max(r.telling, 1))), first ? least : 0);
    if (limits_ < 0.5) return true;
    --limits_;
    return false;
  }
  void sample(record const& r, bool refused) noexcept {
    if (r.refusals == 0 && fair(r)) bad_.first(refused);
    if (r.refusals == 1 && (fair(r) || most_bad())) bad_.second(refused);
  }
  /// Takes a refusal of what went after the one before was heard.
  void compare(record& r) noexcept {
    bool const again = accepted_ == std::exchange(accepted_heard_, accepted_);
    if (std::exchange(r.aside, false)) {
      ++asked_;
      if (again && r.refusals == 0) wanted_ = passed_ = 0;  // another than the one before
    } else if (again || passed_ > 0) {
      wanted_ = steps * std::max<std::size_t>(passed_, 1);
    }
  }

  suspicion bad_;
  double lately_ = 0;       // share of refusals
  std::uint32_t lead_ = 0;  // successes, less refusals that did not show one alone; modulo 2^32
  std::uint64_t accepted_ = 0;
  int firsts_ = 0;     // first refusals since anything was accepted
  int proven_ = 0;     // requests refused three times, less twice those of them that were accepted
  double limits_ = 0;  // refusals that are a limit's, not heard of yet
  std::size_t wanted_ = 0, passed_ = 0;           // aside: are to be asked, have passed
  int asked_ = 0;                                 // … were refused since one that had been before
  std::uint64_t accepted_heard_ = 0;              // when the last refusal was heard, …
  time_point heard_ = time_point::min();          // … and when that was
  time_point accepted_sent_ = time_point::min();  // when the last that was accepted went, …
  time_point refused_sent_ = time_point::min();   // … and the last that was refused
  bool passed_last_ = true;                       // others passed when the last one went
  std::size_t in_vain_ = 0;  // requests that were refused twice since anything was accepted
};

}  // namespace headway
