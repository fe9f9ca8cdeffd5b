/// The one thread that writes results and journal, in groups: one sync pays for many answers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/outcomes.hpp"
#include "journal/bodies.hpp"
#include "journal/journal.hpp"
#include "journal/ledger.hpp"
#include "os/file.hpp"

namespace headway::app {

/// Takes what is to be recorded in order, and says up to where it is durable.
///
/// While one group is being written to the ledger the next one gathers.
///
/// After an error nothing more is written or acknowledged, and what is handed over is dropped: see
/// failure(). Threads: all functions may be called from any thread.
class recorder {
 public:
  /// Results that have been committed are copied to `echo_fd` unless that is -1; when it cannot be
  /// written, copying ends and recording goes on.
  recorder(std::unique_ptr<ledger> to, int echo_fd);
  /// The same, to a file_ledger of these.
  recorder(journal* log, file results, int echo_fd);

  /// Does close().
  ~recorder();

  recorder(recorder const&) = delete;
  recorder& operator=(recorder const&) = delete;

  /// `line` must not be sent twice and is about to be: send it once this number is committed.
  std::uint64_t intend(std::int64_t line);

  /// The server said that it did not carry `line` out; it may be sent again.
  std::uint64_t clear(std::int64_t line);

  /// `line` has ended; `json_line` is its result, without line feed. Ends its intent.
  std::uint64_t finish(std::int64_t line, final_outcome how, std::string_view json_line);

  /// The same, with bodies that are in their files before the result is durable.
  std::uint64_t finish(std::int64_t line, final_outcome how, std::string_view json_line,
                       std::vector<kept_body> bodies);

  /// Is durable with the next of the above, all or nothing.
  void put(note);

  /// All numbers up to this one are durable.
  std::uint64_t committed() const noexcept { return committed_.load(std::memory_order_acquire); }

  /// The run ends: what keeps the ledger from writing is waited for no longer than this.
  void leave(duration patience);

  /// When the ledger is due has changed: it is looked at again.
  void poke();

  /// Readable after committed() or failure() changed, copying ended or the ledger has something
  /// new; read it to reset it (eventfd(2), non-blocking).
  int event_fd() const noexcept { return event_.fd(); }

  /// Bytes of memory held by what is not yet committed and copied.
  std::size_t pending_bytes() const noexcept { return pending_.load(std::memory_order_relaxed); }

  /// Why copying ended, an errno; 0: it has not.
  int echo_failure() const noexcept { return echo_failure_.load(std::memory_order_relaxed); }

  /// Blocks until everything handed over so far is committed and copied, and nothing else is being
  /// handed over; throws failure(), and where another process has touched the results.
  void drain();

  /// Commits what it was given, and closes the ledger unless something failed. Nothing may be
  /// handed over afterwards.
  void close();

  /// Set once writing failed (mostly `fatal`, exit_io): stop sending.
  std::exception_ptr failure() const;

 private:
  std::uint64_t add(std::int64_t line, line_state to, std::string_view json_line = {},
                    std::vector<kept_body> bodies = {});
  void work();
  bool attempt(std::unique_lock<std::mutex>& held, std::function<void()> const& act);
  void echo(std::string_view bytes);

  std::unique_ptr<ledger> const ledger_;
  int const echo_fd_;
  file event_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;     // the thread
  std::condition_variable drained_;  // wakes drain()
  change_group gathering_;
  std::size_t gathered_ = 0;  // bytes of its results and bodies
  std::vector<note> next_notes_;
  std::uint64_t added_ = 0;
  bool urgent_ = false;  // a thread waits: do not gather any longer
  bool idle_ = false;    // the thread waits for the first change
  bool poked_ = false;
  bool stopping_ = false;
  std::exception_ptr failure_;

  std::atomic<std::uint64_t> committed_{0};
  std::atomic<std::size_t> pending_{0};
  std::atomic<int> echo_failure_{0};
  std::thread thread_;
};

}  // namespace headway::app
