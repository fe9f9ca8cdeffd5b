#pragma once

#include <algorithm>

#include "headway/time.hpp"

namespace headway {

/// Knows what the server does while nothing queues. Where answer after answer takes longer than
/// then, to requests that went faster than it delivers, these queue. No more may be out then than
/// is delivered in that time: a gateway gives up what waits for too long, and the work on it is
/// lost.
///
/// Answers that differ much come fast ones first. So until the server has answered for long enough
/// (`steady`) the time grows with what is heard, and nothing is held. A verdict on a pause of our
/// own (`latency`) tells the time anew.
///
/// Units: seconds where not typed; units per second. Threads: a value. Source: Little, A Proof for
/// the Queuing Formula L = λW, 1961; scenarios/shared-4-gateway.toml; design/003, "Slow answers".
struct calm {
  double answer = 0;   ///< seconds that one takes, the mean
  double rate = 0;     ///< delivered, the most of late; 0: not known yet
  int late = 0;        ///< answers in a row that took longer …
  time_point since{};  ///< … and when the first of them went
  friend bool operator==(calm const&, calm const&) = default;

  static constexpr double longer = 1.5;     ///< times the usual: a block of another kind
  static constexpr double smoothing = 4;    ///< blocks; a longer time in 32: bimodal 1.33, not 1.08
  static constexpr double forgetting = 32;  ///< blocks: a lower rate is believed late
  static constexpr int late_most = 8;    ///< in a row: no chance; 12: 164 of 500 given up, not 18
  static constexpr double faster = 0.8;  ///< of what is delivered goes; 0: open arrivals to a
                                         ///< server that got slower wait for 7.3 s, not 2.0
  static constexpr double times = 1.75;  ///< what is delivered in an answer's time may be out, …
  static constexpr double times_more = 8;  ///< … and so many requests more

  /// Takes a block of answers of `mean` seconds, of which `delivers` came a second and that no
  /// queue held. `steady`: slow ones had the time to come, and the caller was no bottleneck.
  void learn(double mean, double delivers, bool steady) noexcept {
    if (answer == 0 || (!steady && rate == 0)) answer = std::max(answer, mean);
    bool const usual = steady && mean < longer * answer;
    if (rate > 0 || usual) rate = std::max(delivers, usual ? rate - rate / forgetting : rate);
    answer += (mean - answer) / smoothing;
  }
  /// Takes what a pause has told: answers then took `mean`. `ours`: the queue was, and so much was
  /// delivered before; else the server is slower.
  void learn_paused(double mean, double delivered, bool ours) noexcept {
    answer = ours ? std::min(answer, mean) : mean;
    if (ours) rate = delivered;
  }
  /// Takes an answer to a request that went at `sent`, of `unit`; `is_late`: it took longer than
  /// any that does not queue. Returns whether so many did that what is out queues.
  bool queues(bool is_late, time_point sent, double unit) noexcept {
    late = is_late ? late + 1 : 0;
    if (late == 1) since = sent;
    bool const sent_faster = (late - 1) * unit > faster * rate * to_seconds(sent - since);
    if (late == 2 * late_most) {
      late = late_most;
      since += (sent - since) / 2;
    }
    return late >= late_most && sent_faster && rate > 0;
  }
  /// Returns how many requests, of `unit` each, may be out then.
  double most_out(double unit) const noexcept { return times * rate / unit * answer + times_more; }
};

}  // namespace headway
