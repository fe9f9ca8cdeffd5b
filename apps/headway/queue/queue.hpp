/// One queue over many hosts: its engine, and a worker's part of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headway/postgres/connection.hpp"
#include "journal/journal.hpp"
#include "provider/spent_by_others.hpp"

namespace headway::app {

/// What a queue is, as its starter uploaded it.
struct queue_facts {
  std::int64_t id = 0;  ///< of this queue; one that is dropped and uploaded anew has another
  std::string name{};
  std::string digest{};   ///< of all lines of JOBS
  std::string shape{};    ///< what else makes requests of them
  std::string options{};  ///< what workers are told with it; headway alone reads it
  std::int64_t lines = 0;
  std::int64_t uploaded = 0;  ///< of them
  std::int64_t requests = 0;  ///< in what is uploaded
  bool sealed = false;        ///< all is uploaded: it may be worked on
  bool stopped = false;       ///< until it is resumed nothing is handed out
};

inline constexpr std::int64_t block_lines_max = 1000;
inline constexpr std::size_t block_bytes_max = std::size_t{8} << 20;

/// Returns whether it is `[A-Za-z0-9._-]{1,64}`.
bool is_queue_name(std::string_view) noexcept;

/// The engine of queues, over one connection at a time, which it makes anew when it is lost.
///
/// Every function of queue.sql may be called again when its answer was lost, so ask() does. Errors:
/// fatal, exit_usage where a person has to change something, exit_parked where `again` says no,
/// exit_io where the engine refuses. Threads: one; the stop token is for all.
class queue_engine {
 public:
  /// Told why the engine does not answer; returns, after a pause, whether to try again.
  using patience = std::function<bool(std::string const& why)>;

  queue_engine(postgres::endpoint, patience again, postgres::patience = {}, std::stop_token = {});

  /// Carries out a call of a function of queue.sql; makes the schema at first.
  postgres::rows ask(std::string_view sql, std::initializer_list<postgres::parameter> = {});

  /// Returns the queue of this name, if there is one.
  std::optional<queue_facts> find(std::string const& name);

  /// As messages show it.
  std::string const& name() const noexcept { return where_.name(); }

 private:
  postgres::endpoint where_;
  patience again_;
  postgres::patience limits_;
  std::stop_token stop_;
  std::optional<postgres::connection> connection_{};
  bool has_schema_ = false;
};

/// Consecutive lines of JOBS, leased.
struct queue_block {
  std::int64_t first = 0;
  std::int64_t fence = 0;
  std::string lines{};  ///< each with a line feed; body files are in them
  std::string state{};  ///< of each line a byte: a line_state, or `no_request`
  /// Of the last owner's: sent, perhaps carried out. They are to end as unknown, and not to be
  /// sent.
  std::vector<std::int64_t> intended{};

  static constexpr char no_request = 5;

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(state.size()); }
};

/// A process that works on a queue: leases blocks, and commits what became of their lines.
///
/// What a commit acknowledges is durable, under a fence: once a block has another owner, nothing of
/// this one is taken. Errors: those of queue_engine. Threads: one.
class queue_worker {
 public:
  static constexpr std::chrono::seconds lease_usual{30};

  /// Requires: the queue is sealed.
  queue_worker(queue_engine&, queue_facts, std::chrono::milliseconds lease = lease_usual);
  queue_worker(queue_worker const&) = delete;
  queue_worker& operator=(queue_worker const&) = delete;

  queue_facts const& facts() const noexcept { return facts_; }

  /// Why there is no block. `wait`: others have what is left. `parked`: all that is left is.
  enum class none : std::uint8_t { wait, ended, parked, stopped, gone };
  struct leased {
    std::optional<queue_block> block{};
    none why = none::wait;  ///< where there is no block
  };
  /// The next block that no worker holds. One that is damaged is parked, which `parked()` tells,
  /// and the next is taken.
  leased lease();

  /// A block that is not ours any longer, and why.
  struct dropped {
    std::int64_t first;
    enum class reason : std::uint8_t {
      fenced,    ///< its lease ran out, and another worker has it
      forgotten  ///< the engine has lost commits that it had acknowledged: another took its place
    } why;
  };
  /// What became of a group.
  struct committed {
    outcome_counts ended{};       ///< lines that have ended so by it
    std::vector<dropped> lost{};  ///< what concerned these was left out
  };
  /// Makes `group` durable, some MB at a time, and renews the leases of its blocks. `results`: of
  /// each change to a final state, in their order, a line with its line feed. `spent`: all that
  /// this worker has spent, as spent_by_others has it, which counts even if it has lost the blocks;
  /// nullopt: as it was. Lines of blocks that were not ours before are left out, too.
  ///
  /// If the connection is lost meanwhile, it finds out by the number of the part, under the fence,
  /// whether it was carried out. Once it has thrown, the worker must not be used again.
  committed commit(std::span<change const> group, std::string_view results,
                   std::optional<std::string> spent = {});

  struct renewed {
    std::vector<dropped> lost{};
    bool stopped = false;  ///< finish what has been sent, release(), and end
    bool gone = false;     ///< dropped by a person
  };
  /// Renews all leases.
  renewed renew();

  /// What the others have spent, after all that this one has committed.
  spent_by_others spent();

  /// Gives a block back with what is open in it.
  void release(std::int64_t first);
  /// Gives all back.
  void release();

  /// No worker takes this block until the queue is resumed. `why` is for people.
  void park(std::int64_t first, std::string const& why);
  /// What was parked by this worker: a sentence each.
  std::vector<std::string> const& parked() const noexcept { return parked_; }

  /// Until when the block is surely ours; in the past where it is not.
  std::chrono::steady_clock::time_point held_until(std::int64_t first) const;
  /// How many are ours.
  std::size_t blocks() const noexcept { return held_.size(); }

 private:
  struct held {
    std::int64_t fence, last;
    std::int64_t parts = 0, left = 0;  // commits; lines that have not ended
    std::chrono::steady_clock::time_point until{};
  };
  struct part {
    std::vector<std::byte> changes{}, results{};
    outcome_counts ended{};
  };
  void commit(std::map<std::int64_t, part>, std::optional<std::string> const& spent, committed& so);
  std::map<std::int64_t, held>::iterator block_of(std::int64_t line);
  std::string damage_of(queue_block const&, std::int64_t n);
  void park(std::int64_t first, std::int64_t fence, std::string const& why);
  int milliseconds_of_lease() const { return static_cast<int>(lease_.count()); }

  queue_engine& engine_;
  queue_facts facts_;
  std::chrono::milliseconds lease_;
  std::int64_t id_;
  std::int64_t told_ = 0;                // times that it has said what it has spent
  std::map<std::int64_t, held> held_{};  // by first line
  std::vector<std::string> parked_{};
};

/// How far a queue is.
struct queue_status {
  queue_facts facts{};
  std::int64_t success = 0, failed = 0, unknown = 0;  ///< requests
  std::int64_t in_hand = 0;                           ///< not ended, in blocks that workers hold
  std::int64_t blocks = 0, ended = 0;
  std::int64_t waiting = 0, waiting_bytes = 0;  ///< blocks, and their results, to be collected
  std::int64_t taken_over = 0;  ///< blocks of workers that were not heard any longer
  std::int64_t parked = 0;      ///< blocks
  std::string parked_why{};     ///< of the first of them, with its line
  std::string collector{};      ///< the file that has the results, "" if none yet

  std::int64_t done() const noexcept { return success + failed + unknown; }
  bool all_ended() const noexcept { return facts.sealed && ended == blocks; }
  std::int64_t open() const noexcept { return facts.requests - done(); }
};
/// Returns "5 of 200 lines are uploaded", where that is not all of JOBS; else "".
std::string not_uploaded(queue_facts const&);
/// Returns that of the queue with this name, or of all with "".
std::vector<queue_status> status_of(queue_engine&, std::string const& name = {});
/// Returns that of all. Errors: postgres::error.
std::vector<queue_status> status_of(postgres::connection&);

/// All workers together may spend so much of a quota.
void allow_queue(queue_engine&, std::int64_t queue, quota_units const&);

/// Stops it: workers are handed nothing more, end what they have sent, and park. False: there is
/// no such queue.
bool stop_queue(queue_engine&, std::string const& name);
/// Lets it go on, with what was parked.
bool resume_queue(queue_engine&, std::string const& name);
/// Deletes it, with its results, and what is left of others that were being deleted.
bool drop_queue(queue_engine&, std::string const& name);

/// Opens the lines of a queue again that ended so; returns how many, nullopt while workers hold
/// blocks of it. Their new results follow those that have been collected.
std::optional<std::int64_t> reopen_queue(queue_engine&, queue_facts const&,
                                         std::span<final_outcome const>);

}  // namespace headway::app
