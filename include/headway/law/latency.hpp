#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "headway/law/calm.hpp"
#include "headway/outcome.hpp"
#include "headway/time.hpp"

namespace headway {

/// Judges the time that answers take, block by block, by the lowest of each. When it doubles, a
/// pause of our own tells our queue (it falls) from a slow server (it stays, and is the new
/// normal).
///
/// Units: seconds where not typed. Threads: a value. Source: RFC 6817 (the lowest of a block);
/// design/003.
struct latency {
  double mean = 0;        ///< smoothed; 0: no answer yet
  double base = 0;        ///< the lowest of a block while nothing queued
  double lowest = 0;      ///< of this block
  double highest = 0;     ///< of this block
  double total = 0;       ///< of this block: the sum, and once it is whole the mean
  int answers = 0;        ///< in it
  int high = 0;           ///< blocks in a row that were too high
  double delivered = 0;   ///< units per second in the block before
  time_point block{};     ///< its begin; while draining: what was sent before does not count
  time_point answered{};  ///< the last answer
  double room = 2048;     ///< permits without an answer, while they are not the limit
  int heard = 0;          ///< permits with an answer that has begun, as of the last one

  /// A pause of our own.
  struct pause {
    double risen = 0;   ///< the latency that made us drain; 0: we do not
    double resume = 0;  ///< the level before
    int answers = 0;    ///< that have come since, until our queue is gone
    friend bool operator==(pause const&, pause const&) = default;
  };
  pause drains{};  ///< the latest
  calm usual{};    ///< the server while nothing queues

  /// The order of the first block's answers.
  struct order {
    double longest = 0;        ///< of the first two answers
    std::uint64_t newest = 0;  ///< sends up to the latest one that is answered
    int queued = 0;            ///< of them that came late, while more was out than is delivered
    /// Returns whether one takes much longer than the first did.
    bool is_late(sample const& s) const noexcept {
      return to_seconds(s.rtt) > higher * longest + shortest;
    }
    friend bool operator==(order const&, order const&) = default;
  };
  order first{};  ///< as far as it has come
  friend bool operator==(latency const&, latency const&) = default;

  static constexpr double smoothing = 20;        ///< answers, or as many as fly
  static constexpr double shortest = 0.002;      ///< shorter queues are not worth avoiding
  static constexpr int block_answers = 24;       ///< that a judgement needs …
  static constexpr int drain_answers = 8;        ///< … after a pause
  static constexpr double silence = 4;           ///< answers' times, and turns: a block begins anew
  static constexpr double more = 1.25;           ///< times as much: a ramp delivers more
  static constexpr double known = 2;             ///< blocks have gone by, and …
  static constexpr double unlike = 4;            ///< … times their answers' range
  static constexpr double flying = calm::times;  ///< times what flies at what is delivered …
  static constexpr double flying_more = calm::times_more;  ///< … and so many more: they queue
  static constexpr int few = 2;                ///< answers tell by another that it is late, …
  static constexpr double overtaken = 1.5;     ///< … of so many times as many sends, at most
  static constexpr double overtaking = 2;      ///< permits more for an answer that does
  static constexpr double higher = 1.5;        ///< times the base …
  static constexpr double higher_by = 0.25;    ///< … and so much of the mean: too high, …
  static constexpr double explains = 0.5;      ///< … of what that explains flies, at least
  static constexpr int high_blocks = 2;        ///< blocks in a row that are
  static constexpr double base_fall = 4;       ///< blocks: a lower base is soon believed, …
  static constexpr double base_rise = 32;      ///< … a higher one late
  static constexpr double drain_share = 0.25;  ///< of the level is sent while draining
  static constexpr int most = 15;              ///< times what is out has come: our queue is gone
  static constexpr double fallen = 0.25;       ///< of the rise: the queue was ours
  static constexpr double usable = 0.97;       ///< of what was delivered
  static constexpr double room_known = 64;     ///< permits at first, where a memory tells the time
  static constexpr double room_least = 4;      ///< permits
  static constexpr double room_times = 2.5;    ///< what flies

  /// The load of the server.
  enum class load : std::uint8_t {
    unknown,  ///< no new judgement
    full,     ///< what is sent grows, what is delivered does not
    queued,   ///< answers take longer
    gone,     ///< our queue is, sooner than thought: `delivered` tells what the server can do
    ours,     ///< they took longer by our own queue, which has drained
    slower,   ///< they take longer, and not by our doing
  };

  /// Takes the time of an answer, while `out` answers are usually on their way.
  void average(double rtt, double out) noexcept { mean += (rtt - mean) / std::max(smoothing, out); }

  /// Takes an answer that leaves so many permits without one; `enough` may have none.
  void make_room(double unheard, double enough) noexcept {
    room = unheard >= room - 1 ? room + 1
           : enough < room     ? room + (enough - room) / std::max(smoothing, room)
                               : enough;
  }
  /// Takes an answer of the first block. Where answers come ever later, and hardly one overtakes
  /// another, what has gone queues: until the block tells, no more may be out than is delivered.
  /// Where many overtake others, more may be out.
  void hold_room(time_point now, sample const& s) noexcept {
    if (base > 0 || answers >= block_answers) return;
    if (answers < few) first.longest = std::max(first.longest, to_seconds(s.rtt));
    first.newest = std::max(first.newest, s.sent.sends + 1);
    auto const since = to_seconds(now - block) - first.longest;
    bool const later = answers >= few && since > 0 && first.is_late(s);
    bool const in_order = static_cast<double>(first.newest) <= overtaken * (answers + 1);
    auto const unheard = s.in_flight - s.heard;
    if (later && in_order) {
      room = std::min(room, flying * answers * first.longest / since + flying_more);
      first.queued += unheard >= room ? 1 : 0;
    }
    if (answers >= few && !in_order && unheard >= room - overtaking) room += overtaking;
  }
  /// Takes an answer, where requests cost `unit`. Where they queue, and the caller is not the
  /// bottleneck, no more may be out than is delivered.
  void hold_queue(sample const& s, double unit) noexcept {
    bool const late = base > 0 && to_seconds(s.rtt) > high_above(usual.answer);
    if (usual.queues(late && !s.app_limited, s.sent.sent, unit))
      room = std::min(room, usual.most_out(unit));
  }
  /// Returns the seconds that an answer takes where nothing queues, as far as one knows.
  double unqueued() const noexcept { return base > 0 ? base : mean; }
  /// Takes a failure, which was delivered, too. Its time says nothing.
  void fail(sample const& s) noexcept {
    if (answers == 0) return;
    total += total / answers++;
    if (base == 0 && first.is_late(s) && s.in_flight - s.heard >= room) ++first.queued;
  }

  /// Returns whether a pause of our own is to tell our queue from a slow server.
  bool draining() const noexcept { return drains.risen > 0; }

  /// Begins such a pause, for as long as our queue, if it is ours, takes to empty: an answer takes
  /// `risen` with it. Returns the level meanwhile, a share of `sent`; `resume` is that before.
  double drain(time_point now, double risen, double resume, double sent) noexcept {
    high = 0;
    drains = {.risen = queued_at_first() ? std::min(risen, std::max(mean, base)) : risen,
              .resume = resume};
    block = later(now, from_seconds((risen - base) / (1 - drain_share)));
    return drain_share * sent;
  }

  /// Ends it unjudged, if there is one: the level is to change for another reason. Returns what it
  /// was before, or `level`.
  double give_up(double level) noexcept {
    return std::exchange(drains.risen, 0) > 0 ? drains.resume : level;
  }

  /// Takes the first send: what is timed is timed from it on.
  void start(time_point now) noexcept { block = answered = now; }

  /// Begins a block anew, since samples were lost or the level leapt; `before` answers count.
  void gap(time_point now, int before = 0) noexcept {
    answers = before;
    block = std::max(block, now);
  }

  /// The circumstances of an answer.
  struct sending {
    double unit = 1;     ///< mean cost of a request
    double pace = 1;     ///< units per second
    double seconds = 0;  ///< since it began, the server opened, a refusal cut, or something besides
                         ///< the law held a request back
    double answers = 0;  ///< seconds since the server began to answer
    bool ramps = false;  ///< the level, a rate, grows until it is refused; what is delivered says
                         ///< nothing against permits
    bool ahead = false;  ///< turns are dealt ahead: what flies grows in steps, before its answers
    int tests = 0;       ///< out of a row that went at once: they are no queue
  };

  /// Takes an answer. Returns what a block of them tells, once it is whole; `how()` is asked then.
  template <class Sending>
  load judge(time_point now, sample const& s, Sending how) noexcept {
    bool const paused = draining();
    if (paused && s.sent.sent < block)
      return block > now && is_empty(now, s, how) ? load::gone : load::unknown;
    auto const silent = to_seconds(now - std::exchange(answered, now));
    if (silent > silence * mean && silent > silence * (mean + how().unit / how().pace)) {
      answers = 0;
      if (!paused) block = now;
    }
    auto const rtt = to_seconds(s.rtt);
    lowest = answers == 0 ? rtt : std::min(lowest, rtt);
    highest = answers == 0 ? rtt : std::max(highest, rtt);
    total = answers == 0 ? rtt : total + rtt;
    if (++answers < (paused ? drain_answers : block_answers)) return load::unknown;
    auto const lasted = to_seconds(now - block);
    if (lasted < mean) return load::unknown;
    auto const delivers = answers * how().unit / std::max(lasted, 1e-9);
    total /= answers;
    answers = 0;
    block = now;
    if (paused) return judge_drained();
    bool const at_first = base == 0 && queued_at_first() && how().ramps;
    if (!at_first) first.queued = 0;
    auto const told = judge_block(s, how(), delivers, lasted);
    return at_first ? load::full : told;
  }

 private:
  /// Returns above which time an answer is too late, where it usually takes `usually`.
  double high_above(double usually) const noexcept {
    return higher * base + std::max(shortest, higher_by * usually);
  }
  /// Returns whether most answers of the first block told of a queue.
  bool queued_at_first() const noexcept { return 2 * first.queued >= block_answers; }

  /// Takes an answer to what went before the pause tells. Returns whether our queue is gone, which
  /// may be sooner than thought: then the pause tells from now on, and what came meanwhile is what
  /// the server delivers.
  template <class Sending>
  bool is_empty(time_point now, sample const& s, Sending how) noexcept {
    if ((s.in_flight - s.heard - 1) * most > ++drains.answers) return false;
    auto const lasted = std::max({to_seconds(now - answered), mean, shortest});
    delivered = std::max(delivered, drains.answers * how().unit / lasted);
    block = now;
    return true;
  }

  load judge_drained() noexcept {
    auto const left = queued_at_first() ? highest : lowest;  // of the former not one may be slow
    bool const ours = drains.risen - left > fallen * (drains.risen - base);
    drains.risen = first.queued = 0;
    base = ours ? std::min(base, lowest) : lowest;
    usual.learn_paused(total, delivered, ours);
    return ours ? load::ours : load::slower;
  }

  load judge_block(sample const& s, sending const& how, double delivers, double lasted) noexcept {
    auto const before = std::exchange(delivered, delivers);
    if (base == 0) base = lowest;
    auto const flies = s.in_flight - s.heard - how.tests;
    // Of fewer only the slow ones are left, since nothing goes; and where the caller's workers are
    // as many as before, the server is slower.
    bool const late = lowest > high_above(mean) &&
                      flies * how.unit > explains * delivers * lowest &&
                      !(s.app_limited && s.in_flight <= s.sent.in_flight);
    // Before, only fast ones have come, or the block before was another pace's.
    auto const slow_ones = std::max(known * lasted, unlike * (highest - lowest));
    auto const paced = std::max(delivers, how.ahead ? how.pace : 0);
    if (how.seconds > (late ? mean : slow_ones) && how.ramps && delivers < more * before &&
        flies > flying * paced / how.unit * mean + flying_more)
      return load::full;
    if (!late) {
      base += (lowest - base) / (lowest < base ? base_fall : base_rise);
      usual.learn(total, delivers, how.answers > slow_ones && !s.app_limited);
      high = 0;
      return load::unknown;
    }
    return ++high >= high_blocks ? load::queued : load::unknown;
  }
};

}  // namespace headway
