/// A ledger: where lines and their results become durable, together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headway/time.hpp"
#include "journal/bodies.hpp"
#include "journal/journal.hpp"
#include "os/file.hpp"

namespace headway::app {

/// Changes of lines, in their order, and all that goes with them.
struct change_group {
  std::vector<change> changes{};
  std::string results{};  ///< of those that have ended, a line each
  std::vector<kept_body> bodies{};
  std::vector<note> notes{};  ///< each key once
};

/// What a recorder writes to. Errors are `fatal`; after one it must not be used again. Threads: one
/// at a time.
class ledger {
 public:
  ledger() = default;
  ledger(ledger const&) = delete;
  ledger& operator=(ledger const&) = delete;
  virtual ~ledger() = default;

  /// Makes `group` durable, all or nothing.
  virtual void commit(change_group const& group) = 0;
  /// Does what is due beside commits; `idle`: all that was handed over is committed.
  virtual void tend(bool /*idle*/) {}
  /// When tend() is to be called next at the latest.
  virtual time_point due() const { return never; }

  /// Throws where another process has touched what was committed.
  virtual void require_untouched() const = 0;
  /// The run ends: from now on what keeps it from writing is waited for no longer than this. To be
  /// called in any thread.
  virtual void leave(duration /*patience*/) {}
  /// Nothing follows, and all that was handed over is durable.
  virtual void close() = 0;
};

/// Results in a file, and the states of lines in a journal, if there is one.
///
/// The results' bytes are durable before the journal says that they are there; after a crash
/// journal::start() cuts off what the journal does not know: each line's result is there once.
class file_ledger final : public ledger {
 public:
  /// `log` was start()ed with `results`, or is null: then a result is durable when it is written.
  file_ledger(journal* log, file results);

  void commit(change_group const& group) override;
  void require_untouched() const override;
  void close() override;

 private:
  journal* const log_;
  file results_;
  std::int64_t results_size_;
};

}  // namespace headway::app
