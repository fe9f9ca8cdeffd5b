/// Collecting the results of a queue.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "journal/journal.hpp"
#include "os/file.hpp"
#include "queue/queue.hpp"

namespace headway::app {

/// A block of a queue in the order in which results are collected; 0: before all.
struct place_in_queue {
  std::int64_t round = 0;  ///< lines that were opened again are of a later one
  std::int64_t first = 0;  ///< line
};

/// What a commit left of a block; 0: before all.
struct part_of_block {
  std::int64_t fence = 0, part = 0;
};

/// What there is to collect.
struct to_collect {
  /// `block`: one was, or some of one: go on. `wait`: the next has not ended yet; `parked`: nor
  /// will it until the queue is resumed. `ended`: all has been.
  enum class what : std::uint8_t { block, wait, parked, ended, gone } what;
  std::string why{};  ///< it is parked
};

/// Moves the results of a queue into a file, in the order of lines, each once: a journal knows how
/// long the file is and which block was the last, in one transaction; only then the engine deletes.
/// Killed at any point, the next collector with the same journal goes on.
///
/// Results of lines that were opened again follow in the same order. Errors: those of queue_engine,
/// journal and file; fatal(exit_usage) where another file has the results. Threads: one.
class collector {
 public:
  /// Results go to the file `out`; the journal is at `journal_path`.
  collector(queue_engine&, queue_facts, std::string const& journal_path, std::string const& out,
            durability);
  collector(collector const&) = delete;
  collector& operator=(collector const&) = delete;

  /// Collects the next block if it has ended, some MB a call, so that there is time for what else
  /// its caller does.
  to_collect next();

  /// The next run with this journal has nothing to mend.
  void close() { log_.close(); }

 private:
  void tell_collected();

  queue_engine& engine_;
  queue_facts facts_;
  journal log_;
  file out_;
  std::int64_t size_ = 0;
  std::string id_{};  // of the journal, as the engine knows it
  place_in_queue last_{};
  part_of_block part_{};  // the last that the file has of that block, or the spool of the next
  std::optional<file> spool_{};  // of the block that is being collected
  place_in_queue spooled_{};     // which one that is
};

/// Prints results that are not collected, in order, and leaves them where they are. Threads: one.
class queue_printer {
 public:
  queue_printer(queue_engine& engine, queue_facts facts)
      : engine_(engine), facts_(std::move(facts)) {}

  /// Prints the next block if it has ended. Throws unprinted() where that is not possible.
  to_collect next();

 private:
  queue_engine& engine_;
  queue_facts facts_;
  place_in_queue last_{};
};

}  // namespace headway::app
