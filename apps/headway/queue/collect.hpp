/// Collecting the results of a queue.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "journal/journal.hpp"
#include "os/file.hpp"
#include "queue/queue.hpp"

namespace headway::app {

/// What there is to collect next. `wait`: it has not ended yet. `parked`: nor will it until the
/// queue is resumed; `why` says the block. `ended`: all is collected.
struct to_collect {
  enum class what : std::uint8_t { block, wait, parked, ended, gone } what;
  std::string why{};
};

/// Moves the results of a queue into a file, in the order of lines, each once: a journal knows how
/// long the file is and which block was the last, in one transaction; only then the engine deletes.
/// Killed at any point, the next collector with the same journal goes on.
///
/// Lines that were opened again follow in the same order. Errors: those of queue_engine, journal
/// and file; fatal(exit_usage) where another file has the results. Threads: one.
class collector {
 public:
  /// Results go to the file `out`; the journal is at `journal_path`.
  collector(queue_engine&, queue_facts, std::string const& journal_path, std::string const& out,
            durability);
  ~collector();
  collector(collector const&) = delete;
  collector& operator=(collector const&) = delete;

  /// Collects the next block if it has ended.
  to_collect next();

  /// The next run of this journal finds nothing to mend.
  void close();

 private:
  queue_engine& engine_;
  queue_facts facts_;
  journal log_;
  file out_;
  std::int64_t size_ = 0;
  std::string id_{};                    // of journal and file, as the engine knows them
  std::int64_t round_ = 0, first_ = 0;  // of the last block
};

/// Writes the results that are not collected, in order, to the descriptor `out`, and leaves them in
/// the engine. `after`: of the last block that was written, moves on. False: its reader is gone.
struct place_in_queue {
  std::int64_t round = 0, first = 0;
};
bool print_results(queue_engine&, queue_facts const&, int out, place_in_queue& after,
                   to_collect& next);

}  // namespace headway::app
