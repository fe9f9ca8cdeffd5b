/// The ledger of a fleet: a queue in a database, of which this run holds some blocks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/outcomes.hpp"
#include "headway/backoff/equal_jitter.hpp"
#include "headway/random.hpp"
#include "headway/time.hpp"
#include "journal/ledger.hpp"
#include "queue/collect.hpp"
#include "queue/queue.hpp"

namespace headway::app {

/// The recorder's thread alone talks to the engine: it commits, and between two commits it renews
/// leases, leases blocks, collects results. The run's loop reads lines, sends, and never waits for
/// the engine; what the two tell each other stands here, under a mutex.
///
/// What has become another worker's is left out of each commit. Such a block may come back to us
/// only once the loop has forgotten what it had of it, and nothing of that waits to be committed:
/// else the answer to a request of then would be taken for one of now.
class fleet_ledger final : public ledger {
 public:
  struct settings {
    std::chrono::milliseconds lease = queue_worker::lease_usual;
    duration patience = 15min;  ///< with an engine that does not answer
    std::stop_source stop{};    ///< ends what the engine is asked
  };
  /// `collects`: results into a file, or null. The engine must live as long, and ask
  /// wait_for_engine() for patience. Errors: those of queue_engine.
  fleet_ledger(queue_engine&, queue_facts const&, settings, std::unique_ptr<collector> collects);

  // ── of the recorder's thread ────────────────────────────────────────────────────────────────

  void commit(change_group const& group) override;
  void tend(bool idle) override;
  time_point due() const override;
  void require_untouched() const override {}
  void leave(duration patience) override;
  void close() override;

  /// The engine does not answer; returns, after a pause, whether it is waited for any longer.
  bool wait_for_engine(std::string const& why);

  // ── of the loop ─────────────────────────────────────────────────────────────────────────────

  /// Consecutive lines.
  struct lines {
    std::int64_t first, last;
    bool contain(std::int64_t line) const noexcept { return first <= line && line <= last; }
  };
  /// What there is since the last look.
  struct news {
    std::deque<queue_block> blocks{};
    std::vector<lines> lost{};               ///< they have become another worker's
    std::vector<std::string> said{};         ///< for people, sentences
    std::optional<spent_by_others> spent{};  ///< where any of it is new
    bool tended = false;                     ///< the engine was asked since
    bool stopped = false;                    ///< by a person, until the queue is resumed
    bool gone = false;                       ///< dropped by a person
    std::exception_ptr failed{};             ///< results can be collected no longer
  };
  /// Takes what is new. The caller forgets at once what was lost.
  news look();

  /// Whether another block is wanted. True where that is new.
  bool want(bool);
  /// Why none came, when one was asked for last; nullopt: one came, or it was not asked for yet.
  std::optional<queue_worker::none> why_none() const;
  /// This block is to be worked on no longer, by any worker.
  void park(std::int64_t first, std::string why);
  /// The first line of the block of ours that has it; -1: none has.
  std::int64_t block_with(std::int64_t line) const;
  /// Until when the line is surely ours.
  time_point held_until(std::int64_t line) const;

  /// Since when the engine has not answered, and why.
  struct absence {
    time_point since;
    std::string why;
  };
  std::optional<absence> away() const;
  /// How far the queue is, as far as is known, what of that is ours, what we had ended of lines
  /// that were another worker's by then, and how many had ended when we came.
  struct state {
    queue_status all{};
    outcome_counts ours{}, refused{};
    std::int64_t before = 0;
  };
  state status() const;
  /// All results are collected that there are, where this run collects them.
  bool collected() const;

  /// All workers together may spend so much.
  void allow(quota_units);
  /// The queue is to stop for all workers.
  void stop_all();

 private:
  struct holding {
    std::int64_t last;
    time_point until;
  };
  template <class Act>
  auto locked(Act act) const {
    std::lock_guard const held(mutex_);
    return act();
  }
  std::map<std::int64_t, holding>::const_iterator block_of(std::int64_t line) const;
  void pass_stale_group();
  void answered();
  void note(std::vector<queue_worker::dropped> const&);
  void note_leases();
  std::optional<queue_worker::none> lease(time_point now);
  bool collect(time_point now);
  void see_spent();
  void end(std::stop_token const& unneeded);

  queue_engine& engine_;
  settings settings_;
  queue_worker worker_;
  std::unique_ptr<collector> collector_;
  std::size_t parked_told_ = 0;
  time_point renew_at_ = time_point::min(), lease_at_ = time_point::min(),
             collect_at_ = time_point::min(), status_at_ = time_point::min(),
             spent_at_ = time_point::min();
  bool bounded_ = false;  // what may be spent
  rng chance_;
  int attempts_ = 0;  // in vain, to reach the engine

  mutable std::mutex mutex_;
  std::condition_variable_any leaving_;
  std::map<std::int64_t, holding> held_{};  // by the first line
  news news_{};
  bool wanted_ = false, collected_, stops_all_ = false, hurried_ = false;
  std::optional<queue_worker::none> none_{};
  int stale_groups_ = 0;  // that may yet have changes of what was lost
  std::vector<std::pair<std::int64_t, std::string>> to_park_{};
  std::vector<quota_units> to_allow_{};
  std::optional<absence> away_{};
  std::set<std::string> whys_{};  // that have been said of it
  time_point leaves_ = never;
  state status_{};  // `all` is of the last look, `ours` of then
  bool looked_ = false;
  outcome_counts ours_{}, handed_in_{};  // by now
  std::jthread end_{};                   // it waits for the end of all patience
};

}  // namespace headway::app
