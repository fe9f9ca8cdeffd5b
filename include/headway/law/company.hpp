#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "headway/law/spurt.hpp"

namespace headway {

/// Tells whether others share the limit, by how much the ceiling differs from one time that it is
/// met to the next: a client that is alone finds it where it was.
///
/// Equal clients converge to equal shares if each cuts in proportion to its own rate and grows in
/// proportion to time: where all see the same share refused, a client that sends more cuts more.
/// Growth by the request, or cuts to what was measured, keep the shares as they are.
///
/// Threads: a value. Source: Chiu and Jain, Analysis of the Increase and Decrease Algorithms, 1989;
/// design/003, "Company".
struct company {
  /// Ceilings, one after another.
  struct ceilings {
    double found = 0;      ///< the latest; 0: none yet
    double error = 0;      ///< of it, as a share: it was counted in whole requests
    double variation = 0;  ///< from one to the next, as a share, smoothed

    /// Takes one that was found by counting so many; slots are counted without an error.
    void met(double ceiling, double count, bool slots) noexcept {
      auto const errors = std::exchange(error, slots ? 0 : counted / count) + error;
      if (found > 0) {
        auto const differs = ceiling / found - 1;
        auto const change = std::sqrt(std::max(0.0, differs * differs - errors * errors));
        auto const most = sudden * variation + (slots ? sudden_least_slots : sudden_least);
        variation += (std::min(change, most) - variation) / (slots ? smoothing_slots : smoothing);
      }
      found = ceiling;
    }
    friend bool operator==(ceilings const&, ceilings const&) = default;
  };
  ceilings all{};      ///< a short count differs by what was on its way, too
  ceilings lasting{};  ///< of counts that were not short
  bool brief = false;  ///< the latest count was short, and the one since then is
  bool shown = false;  ///< a spurt or a row of tests has shown them
  double told = 0;     ///< units per second, the most that a cycle gave, or what has shown others
  double few = 0;      ///< requests accepted since the latest count, a few between two cuts
  double few_seconds = 0;  ///< … and the time from cut to cut
  spurt window{};          ///< what openings say of a window
  friend bool operator==(company const&, company const&) = default;

  static constexpr double smoothing = 8;        ///< ceilings
  static constexpr double smoothing_slots = 5;  ///< … which differ by chance more seldom
  static constexpr double sudden = 3;           ///< times the usual variation: it has moved, …
  static constexpr double sudden_least = 0.02;  ///< … which is no company, and counts no more
  static constexpr double sudden_least_slots = 0.04;  ///< one of 25
  static constexpr double counted = 0.5;              ///< requests: the error of a count
  static constexpr double brief_answers = 10;  ///< answers' time: a count is short below that, …
  static constexpr double brief_seconds = 1;   ///< … and below this
  static constexpr double gain = 0.25;         ///< stride² ÷ variation
  static constexpr double stride_min = 0.03;   ///< of the level
  static constexpr double stride_max = 0.25;   ///< of the level
  static constexpr double crowded = 0.05;      ///< a longer stride than this: a crowd
  static constexpr double seconds = 12;        ///< to grow by a stride, whatever the rate
  static constexpr double fallen = 2;       ///< times a rate that is refused, a cycle told: others
  static constexpr double seldom = 4;       ///< requests in those seconds: shares differ by chance
  static constexpr double long_window = 2;  ///< times that; 1: of 200 in 20 s Jain .95, not .99
  static constexpr double haste_max = 32;   ///< times as fast, above the ceiling; 8: batch-6 1.40
  static constexpr double far = 4;          ///< times the ceiling; from there on the level doubles
  static constexpr double enough = 12;      ///< requests, accepted a few at a time, are a count; 8:
                                            ///< rate-slow-4's worst Jain .30, not .70
  static constexpr double shown_variation = 0.04;  ///< of what a spurt or a row has shown
  static constexpr double saved_times = 1.4;       ///< 1.1: rate-32 .77 after 5 min, not .82

  /// Takes a ceiling that was found by counting so many for `lasted` seconds, where an answer takes
  /// `answer` seconds.
  void met(double ceiling, double count, bool slots, double lasted, double answer) noexcept {
    brief = is_brief(lasted, answer);
    all.met(ceiling, count, slots);
    if (!brief) lasting.met(ceiling, count, slots);
    shown = shown && varies();
    few = few_seconds = 0;
  }
  /// Takes `count` requests of `unit` each, accepted between two cuts `lasted` seconds apart: too
  /// few for a ceiling of their own. A slow limit gives a client of a crowd no more.
  void met_few(double count, double unit, double lasted, double answer) noexcept {
    few += count;
    few_seconds += lasted;
    if (few >= enough) met(few * unit / few_seconds, few, false, few_seconds, answer);
  }
  /// Takes that ceilings are counted in another unit from now on.
  void change_unit() noexcept { all.found = lasting.found = few = few_seconds = 0; }
  /// Returns the most that a limit of one's own accepts at once, if it gives so many since it
  /// refused. A row of tests that a limit refuses at last, but that gets more, meets what others
  /// have left.
  static double saved(double given) noexcept { return 1 + saved_times * given; }
  /// Takes that others have been shown.
  void show() noexcept {
    shown = true;
    all.variation = std::max(all.variation, shown_variation);
    lasting.variation = std::max(lasting.variation, shown_variation);
  }
  /// Takes a rate that a cycle told.
  void tell(double rate) noexcept { told = std::max(told, rate); }
  /// Takes a refusal at a rate, after some were accepted. A limit of one's own accepts half of what
  /// a cycle told.
  void refused(double rate, double unit) noexcept {
    if (seconds * rate >= seldom * unit || told <= fallen * rate) return;
    show();
    told = rate;
  }
  /// Takes an acceptance `lasted` seconds after the latest refusal.
  void accepted(double lasted, double answer) noexcept {
    brief = brief && is_brief(lasted, answer);
  }

  /// Returns the share of the level that a cut takes and that `seconds` give back: as large as the
  /// ceiling is uncertain.
  double stride() const noexcept {
    return std::clamp(std::sqrt(gain * (brief ? all : lasting).variation), stride_min, stride_max);
  }

  /// Returns the seconds in which a stride is given back: a window cuts each client once, whatever
  /// it takes.
  double stride_seconds() const noexcept {
    return window.window() > long_window * seconds ? window.window() : seconds;
  }

  /// Returns whether the ceiling varies as it does among others.
  bool varies() const noexcept { return stride() > crowded; }

 private:
  static bool is_brief(double lasted, double answer) noexcept {
    return lasted < std::min(brief_answers * answer, brief_seconds);
  }
};

}  // namespace headway
