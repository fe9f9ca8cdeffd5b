/// The vocabulary between code that reads answers and code that decides: the outcome of an attempt.
#pragma once

#include <cstdint>
#include <optional>

#include "headway/time.hpp"

namespace headway {

/// Outcome of an attempt, in four words.
enum class outcome : std::uint8_t {
  success,   ///< served: any answer that the server worked on, a 404 included
  throttle,  ///< the server said "too much"; it did not carry the request out
  failure,   ///< broken: a 500, a reset, a timeout; says nothing certain about the limit
  ignore,    ///< teaches nothing: abandoned, or our own fault
};

/// Resource that was exhausted, if the server says so.
enum class resource : std::uint8_t { unknown, rate, concurrency, quota };

/// Advice of the server. Times are relative to the arrival of the answer; an absent member was not
/// sent.
struct hint {
  std::optional<duration> retry_after{};    ///< wait this long
  std::optional<std::int64_t> remaining{};  ///< units left of the limit that has the least left
  std::optional<duration> reset{};          ///< until all of it is back
  bool shared = false;  ///< others take of it, as the caller or the governor finds
  friend bool operator==(hint const&, hint const&) = default;
};

/// Note of the law on a permit, written when the attempt was sent.
struct stamp {
  time_point sent{};            ///< when
  std::uint64_t epoch = 0;      ///< count of cuts so far: only a throttle of the current epoch cuts
  std::uint64_t successes = 0;  ///< successes known to the law so far
  std::uint64_t sends = 0;      ///< sends before this one, where the law counts them
  int in_flight = 0;            ///< permits out, this one included
  bool paced = false;           ///< the law's pace made it wait
  bool prompt = false;    ///< it went when its pace allowed it, or followed an answer at once,
                          ///< where the law tells
  std::int64_t cost = 1;  ///< units
  duration held{};  ///< for so long a rate of the caller's made it wait after the law let it go
  friend bool operator==(stamp const&, stamp const&) = default;
};

/// One answered attempt as a law sees it.
struct sample {
  stamp sent{};              ///< the note made then
  int in_flight = 1;         ///< permits out when the answer came, the answered one included
  duration rtt{};            ///< answer, or its head, - send
  bool app_limited = false;  ///< the application, not the law, was the bottleneck: it was not paced
                             ///< when it went, and nothing waited when the answer came
  bool capped = false;       ///< of that: a ceiling or quota of the caller was the bottleneck
  int heard = 0;     ///< of `in_flight`: the head of the answer has come before, and not its end
  bool own = false;  ///< a failure of the request's own: it failed before, and others passed since;
                     ///< or a throttle of its own
  bool again = false;  ///< the request was throttled before
  friend bool operator==(sample const&, sample const&) = default;
};

}  // namespace headway
