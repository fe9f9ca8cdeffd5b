#include "journal/ledger.hpp"

#include <utility>

namespace headway::app {

file_ledger::file_ledger(journal* log, file results)
    : log_(log), results_(std::move(results)), results_size_(results_.size()) {}

void file_ledger::commit(change_group const& group) {
  auto const syncs = log_ != nullptr && log_->level() == durability::power;
  // Else the next run would not know that the files are its own.
  if (!group.bodies.empty() && log_ && log_->behind()) log_->commit({}, results_size_);
  if (!group.bodies.empty()) write_bodies(group.bodies, syncs);
  if (!group.results.empty()) {
    results_.append(group.results);
    results_size_ += static_cast<std::int64_t>(group.results.size());
    if (syncs) results_.sync();
  }
  require_untouched();
  if (log_) log_->commit(group.changes, results_size_, group.notes);
}

void file_ledger::require_untouched() const {
  results_.require_untouched(results_size_);
}

void file_ledger::close() {
  if (log_) log_->close();
}

}  // namespace headway::app
