/// The intake: jobs of the input that have not been done, by the journal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "exec/input.hpp"
#include "exec/options.hpp"
#include "exec/recipe.hpp"
#include "journal/journal.hpp"

namespace headway::app {

/// Errors: fatal. Threads: one.
class job_intake {
 public:
  /// Opens the input and the journal, and looks through an input that is no stream.
  job_intake(exec_options const&, recipe const&);

  /// Null where there is none.
  journal* log() noexcept { return log_.get(); }
  journal const* log() const noexcept { return log_.get(); }
  exec_input& input() noexcept { return *input_; }
  /// How many jobs there are; negative: not known.
  std::int64_t total() const noexcept { return total_; }
  /// How earlier runs ended them.
  outcome_counts const& before() const noexcept { return before_; }

  /// Returns the next job; nullopt: there is none, or not yet. Reads at most once.
  std::optional<exec_item> next();
  /// Returns true for one that ran when an earlier run was killed, as far as the journal knows.
  bool was_running(exec_item const& item) const {
    return log_ && std::ranges::binary_search(log_->intents(), item.line);
  }
  /// Takes back what next() gave, to give it again.
  void put_back(exec_item item) { put_back_ = std::move(item); }
  /// No further job comes.
  void close() noexcept { closed_ = true; }

  /// All have been given.
  bool ended() const noexcept { return closed_ && !put_back_; }
  /// Nothing more is read.
  bool closed() const noexcept { return closed_; }
  /// A pipe or a terminal, which has nothing to read until readable() is called.
  bool waits() const noexcept { return polls_ && !readable_; }
  bool polls() const noexcept { return polls_; }
  bool has_one() const noexcept { return put_back_.has_value(); }
  void readable() noexcept { readable_ = true; }

 private:
  std::unique_ptr<journal> log_;
  std::optional<exec_input> input_{};
  std::int64_t total_ = -1;
  outcome_counts before_{};
  bool polls_ = false, readable_ = false, last_read_ = false, closed_ = false;
  std::optional<exec_item> put_back_{};
};

}  // namespace headway::app
