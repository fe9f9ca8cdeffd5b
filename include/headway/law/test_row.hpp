#pragma once

#include <cstdint>

namespace headway {

/// A row of tests: the next sends, that ask what refuses. It is over once all of them are heard.
///
/// Threads: a value. Source: design/003, "Chance".
struct test_row {
  /// The questions.
  enum class asks : std::uint8_t {
    nothing,  ///< none that it judges itself
    limit,    ///< is it a limit? They follow a refusal well below the ceiling
    depth,    ///< how many does it save?
    pace,     ///< does it refuse a faster pace, too?
  };
  int unsent = 0;             ///< tests that go before anything else
  int refused = 0;            ///< of those heard
  int heard = 0;              ///< answers to them
  asks what = asks::nothing;  ///< the question
  double gap = 0;             ///< seconds from one to the next; 0: they go at once
  std::uint64_t first = 0;    ///< stamp of the first of them
  std::uint64_t beyond = 0;   ///< stamp of the first send after them
  friend bool operator==(test_row const&, test_row const&) = default;

  /// Begins so many with the next send.
  void begin(std::uint64_t next_stamp, asks question, int tests, double apart) noexcept {
    *this = {.unsent = tests,
             .what = question,
             .gap = apart,
             .first = next_stamp,
             .beyond = next_stamp + static_cast<std::uint64_t>(tests)};
  }

  /// Returns how many they are.
  int length() const noexcept { return static_cast<int>(beyond - first); }

  /// Returns how many are on their way.
  int out() const noexcept { return length() - unsent - heard; }

  /// Returns whether all are heard.
  bool over() const noexcept { return heard == length(); }

  /// Returns whether chance refuses as many of them as of all.
  bool usual() const noexcept { return gap == 0 && what != asks::depth; }

  /// Returns whether the send of this stamp is a test.
  bool has(std::uint64_t stamp) const noexcept { return stamp >= first && stamp < beyond; }

  /// Returns how many were accepted.
  int passed() const noexcept { return heard - refused; }

  /// Takes back tests of which none went: what they would have found empty is full again.
  void take_back() noexcept {
    unsent = 0;
    beyond = first;
  }

  /// Takes an answer to the send of this stamp, if it was a test, and counts it. Returns whether it
  /// was.
  bool hear(bool is_refused, std::uint64_t stamp) noexcept {
    if (!has(stamp)) return false;
    if (is_refused) ++refused;
    ++heard;
    return true;
  }
};

}  // namespace headway
