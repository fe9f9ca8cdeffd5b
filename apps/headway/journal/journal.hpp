/// The journal: what a run must not forget, in one SQLite file beside JOBS.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/outcomes.hpp"
#include "journal/watermark.hpp"
#include "os/file.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace headway::app {

/// Where a line stands. `intended`: it must not be sent twice, is being sent, and has no answer
/// yet.
enum class line_state : std::uint8_t {
  open = 0,
  success = 1,
  failed = 2,
  unknown = 3,
  intended = 4
};

/// One change of one line (the first is 1).
struct change {
  std::int64_t line;
  line_state to;
};

/// What a run leaves for the next ones: a value by its key.
struct note {
  std::string key, value;
};

/// Opens or creates the journal, takes in the input line by line, then commits groups of changes.
///
/// Before start() nothing is kept: destroyed earlier (input error, --dry-run), it leaves no trace,
/// and no file if it created one. A file that is not a sound journal is refused and left as it is,
/// never repaired.
///
/// Errors are `fatal`: exit_usage where the journal, the input or the results are not what they
/// were, exit_parked where another process holds the journal, exit_io where it cannot be written.
/// Threads: check(), end_of_input() and put() in one thread, commit() in another; lost() in any;
/// close() when nothing else is called any more; the rest before commit() is first called.
class journal {
 public:
  /// `jobs` is the input's name as users know it. `shape`: what else makes requests of its lines,
  /// and must be what it was. `again`: lines that ended so are to be reopened, and may have been
  /// corrected; where all that ended did, so may the shape.
  /// `shaped_by`: the options that the shape is made of, for people.
  journal(std::string path, std::string jobs, durability level, std::string shape = {},
          std::vector<final_outcome> again = {},
          std::string shaped_by = "--url, --body, --method or --format");
  journal(journal const&) = delete;
  journal& operator=(journal const&) = delete;

  durability level() const noexcept { return level_; }
  std::string const& path() const noexcept { return path_; }

  /// How many lines of input the journal knew when it was opened.
  std::int64_t lines() const noexcept { return known_; }

  /// Whether `line` had ended for good when the journal was opened; one bit of memory a line.
  bool done(std::int64_t line) const noexcept;

  /// How many lines had ended so when the journal was opened.
  std::int64_t count(final_outcome how) const noexcept {
    return counts_[static_cast<std::size_t>(how)];
  }

  /// Of the lines up to `last`: how many had ended how. To be called before start().
  outcome_counts ended(std::int64_t last) const;

  /// Lines up to `last` that ended in `how` are open again, durably with start(), and so are later
  /// ones that were corrected, since what they left is another request's; returns how many.
  /// To be called before start(); done() and what counts change with it.
  std::int64_t reopen(final_outcome how, std::int64_t last);

  /// The lines that have failed or are unknown by now; one bit a line, the first is 1.
  std::vector<bool> lost();

  /// Lines that were `intended` when the journal was opened, in ascending order: sent, perhaps
  /// carried out.
  std::vector<std::int64_t> const& intents() const noexcept { return intents_; }

  /// What earlier runs noted by this key; "" if nothing.
  std::string noted(std::string const& key) const;
  /// Notes it, durably with start(), the next commit() or close().
  void put(note const&);
  /// Lines have been taken in that are not durable.
  bool behind();

  /// The next line of input (blank ones and comments too), without its end: must be what it was, or
  /// be new, or corrected. `begins`: the line where its record does, 0 for itself.
  void check(std::string_view line, std::int64_t begins = 0);

  /// The input has ended: it must not have become shorter.
  void end_of_input();

  /// Takes `results` up where the last run left them (cuts off what was not committed) and makes
  /// all so far durable. Refuses results that are shorter than committed, lie elsewhere, or are
  /// there while the journal is new. To be called once, before the first commit(): after the input
  /// was checked or, for a stream, before.
  void start(file& results);

  /// Makes `group` durable, all or nothing, with the lines checked so far. `results_size`: the
  /// length of the results file that goes with it; those bytes must be durable already. After an
  /// error the journal must not be used again. A final state is final: a line that has one keeps
  /// it.
  void commit(std::span<change const> group, std::int64_t results_size,
              std::span<note const> notes = {});

  /// The run has ended well: from now on the journal is one file, and its results are as long as it
  /// says. Destroyed without this after start(), it is that of a run that was killed.
  void close();

 private:
  struct closer {
    void operator()(sqlite3* db) const noexcept;
  };
  struct finalize {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  struct leftover {  // of a journal that was never started
    std::string path;
    ~leftover();
  };
  using statement = std::unique_ptr<sqlite3_stmt, finalize>;
  using digest = std::array<unsigned char, 8>;  // of SHA-256

  void require_private() const;
  void require_ours() const;
  void open_database();
  void load();
  void require_all() const;
  void load_notes();
  void require_shape();
  bool correctable(std::int64_t line) const noexcept;
  void store_fresh();
  void store_corrected();
  void store_note(note const&);
  void load_chunk(std::int64_t line);
  std::string name_of(file const& results) const;

  [[noreturn]] void fail() const;
  [[noreturn]] void damaged(std::string_view how) const;
  [[noreturn]] void refuse(std::string_view why) const;
  void leave_as_it_is() const noexcept;
  void execute(char const* sql) const;
  statement prepare(char const* sql) const;
  bool step(statement const& s) const;
  void run(statement const& s) const;

  std::string const path_;
  std::string const jobs_;
  durability const level_;
  std::string const shape_, shaped_by_;
  std::vector<final_outcome> const again_;
  file lock_;          // outlives db_: closing it drops SQLite's locks too
  leftover leftover_;  // removed after db_ is closed, before the lock is given up
  std::unique_ptr<sqlite3, closer> db_;
  statement begin_, commit_, settle_, reopen_, grow_, note_;
  watermark mark_;
  bool new_ = false;
  bool open_ = false;  // a run has started and not ended well
  bool started_ = false;

  // as of opening
  std::int64_t known_ = 0;
  std::vector<bool> done_;
  std::vector<bool> correctable_;  // ended as `again_` says
  bool reshaped_ = false;          // the shape has changed, and may
  std::map<std::string, std::string> notes_;
  std::vector<std::int64_t> intents_;
  std::array<std::int64_t, 4> counts_{};
  std::string results_;
  std::int64_t results_size_ = 0;

  std::int64_t line_ = 0;  // lines checked so far
  std::vector<digest> chunk_;
  std::int64_t chunk_first_ = 1;
  std::vector<std::int64_t> corrected_;  // where records begin

  std::mutex mutex_;  // fresh_, edits_, stored_ and transactions
  std::vector<digest> fresh_;
  struct edit {
    std::int64_t line;
    digest now;
  };
  std::vector<edit> edits_;  // in ascending order
  std::map<std::string, std::string> to_note_;
  std::int64_t stored_ = 0;
  std::int64_t commits_ = 0;
};

}  // namespace headway::app
