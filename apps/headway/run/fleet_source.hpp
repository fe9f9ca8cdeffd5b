/// The lines of a fleet's queue, as requests.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/outcomes.hpp"
#include "jobs/job.hpp"
#include "run/fleet_ledger.hpp"
#include "run/source.hpp"

namespace headway::app {

/// The requests of the blocks that a ledger holds.
///
/// A queue is input from the network: a block with a line that is not good, or names a file, is
/// parked as a whole before any of it is sent. At one that names a server that our credentials are
/// not for, this run ends: others may have them.
class fleet_source final : public source {
 public:
  /// `preface`: as jobs_part takes it. `headers`: where they go has been said by the user, or is
  /// known from JOBS itself. `works_for`: whether lines may name an origin; null: any.
  fleet_source(fleet_ledger&, line_options, std::string preface, bound_headers headers,
               std::function<bool(std::string_view)> works_for);

  bool remembers() const noexcept override { return true; }
  bool in_doubt(job const&) const noexcept override;
  void settle(job const&) override;
  bool may_go(time_point now, job const&) const override;
  news look(time_point now) override;
  bool demand(std::size_t live, std::size_t waiting, bool parked) override;
  void leave_open(job const&) override;
  void tell(standing&, time_point now) override;

 protected:
  std::optional<job> take() override;

 private:
  std::deque<job> read(queue_block const&) const;

  fleet_ledger& ledger_;
  line_options const lines_;
  std::string const preface_;
  std::function<bool(std::string_view)> const works_for_;

  std::deque<queue_block> blocks_{};      // not read yet
  std::deque<job> jobs_{};                // of one block
  std::size_t last_size_ = 0;             // requests of the last block
  std::set<std::int64_t> in_doubt_{};     // lines of blocks that were held
  std::set<std::int64_t> left_open_{};    // lines
  std::set<std::int64_t> open_blocks_{};  // that have some of these, by the first line
  outcome_counts refused_{};              // by the ledger, and told
  int parked_in_a_row_ = 0;
  bool gives_up_ = false;  // what was taken and has not ended will not be sent by this run
};

}  // namespace headway::app
