/// An impasse: a server that cannot be reached, has only failed so far, or refuses the caller,
/// whatever is asked of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "headway/time.hpp"

namespace headway::app {

/// That nothing has ever been heard: no attempt has come to a connection.
class silence {
 public:
  static constexpr duration long_enough = 20s;  // for one that is late

  /// An attempt that went at `sent` has ended without a connection.
  void go_on(time_point sent) noexcept {
    if (attempts_++ == 0) began_ = sent;
  }
  void end() noexcept { ended_ = true; }

  bool ended() const noexcept { return ended_; }
  int attempts() const noexcept { return attempts_; }
  bool is_long(time_point now) const noexcept {
    return !ended_ && attempts_ > 0 && now - began_ >= long_enough;
  }

 private:
  bool ended_ = false;
  int attempts_ = 0;
  time_point began_{};
};

/// Of one scope. In an impasse no line is to blame: its lines wait, and one at a time goes as a
/// probe, at growing distance. Threads: one.
class impasse {
 public:
  static constexpr int refused_in_a_row = 20;  // lines, after a success
  static constexpr int attempts_min = 3;       // before it is said that a server cannot be reached
  static constexpr int failed_lines = 16;      // as many tell the law that a server is gone

  /// Returns whether a status refuses the caller, rather than the request.
  static bool refuses_caller(int status) noexcept {
    return status == 401 || status == 402 || status == 403 || status == 407;
  }

  /// Something was done once, or refused for what it asks.
  bool answers() const noexcept { return answers_; }
  /// Nothing has ever been heard.
  bool silent() const noexcept { return !silence_.ended(); }
  /// Nothing was ever heard, and the attempt that went at `sent` came to no connection. `futile`:
  /// another one would end the same.
  void unreached(time_point now, time_point sent, std::string_view why, bool futile);
  /// There was a connection.
  void heard() noexcept;

  /// Nothing was ever done nor refused for what it asks, and a line that went at `sent` has failed,
  /// for the first time if it is `first`. `patience`: how long it is probed.
  void failed(time_point now, time_point sent, bool first, std::string_view why, duration patience);
  /// The server has only failed so far, with so many lines that none of them is to blame.
  bool fails_all() const noexcept { return hold_ && !silent() && !answers_; }

  /// A line that went at `sent` was done, or refused for what it asks. Ends an impasse, if it went
  /// as a probe.
  void served(time_point sent, bool succeeded) noexcept;
  /// A line has come to its end in any other way.
  void broken() noexcept { row_ = 0; }
  /// A line that went at `sent` was refused by a status that refuses the caller. True where that is
  /// an impasse already, and it should go again. `patience`: how long it is probed.
  bool refused(time_point now, time_point sent, int status, duration patience);

  /// When the next may go, with so many in flight; time_point::min() where there is no impasse.
  time_point ready_at(int in_flight) const noexcept;
  /// It is not to be probed any more. `of_run`: of all scopes.
  bool hopeless(time_point now, silence const& of_run) const noexcept;

  bool holds() const noexcept { return hold_.has_value(); }
  /// What is wrong, for people: "connection refused"; "" where there is no impasse.
  std::string words() const;
  /// What was tried, for people.
  std::string tried(time_point now) const;

 private:
  struct hold {
    time_point since, until;
    duration gap;
    int probes = 0;
  };

  void begin(time_point now, duration gap);
  void probe_failed(time_point now, time_point sent, duration gap_max);
  /// There was an answer that is no failure.
  void answered() noexcept;

  silence silence_;
  std::string why_;  // nothing was heard, or all has failed
  bool futile_ = false;
  bool succeeded_ = false, answers_ = false;  // answers_: it does, not only by failures
  int failed_ = 0;                            // lines, as long as it does not
  int row_ = 0;                               // refusals of the caller, without another end between
  int status_ = 0;                            // of them
  duration patience_{};
  std::optional<hold> hold_;
};

}  // namespace headway::app
