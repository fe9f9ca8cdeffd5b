/// A run of a fleet: one that uploads JOBS and may collect its results, or one that joins it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_set>
#include <vector>

#include "headway/random.hpp"
#include "queue/queue.hpp"
#include "run/fleet_ledger.hpp"
#include "run/fleet_source.hpp"
#include "run/intake.hpp"
#include "run/shared_work.hpp"

namespace headway::app {

/// Threads: one.
class fleet_run final : public shared_work {
 public:
  /// As share_work() has them.
  fleet_run(run_options&, std::vector<std::string> headers, std::function<bool()> interrupted);

  source& requests() override { return *source_; }
  std::unique_ptr<ledger> keeper() override { return std::move(unused_); }
  void allow(quota_units) override;
  void stop_all() override;
  std::string words() const override;
  std::optional<int> conclude(bool hurried) override;

 private:
  queue_facts start(run_options const&, std::vector<std::string> const& headers, bool has_secrets);
  queue_facts join(std::string const& name);
  void reopen(queue_facts const&, std::vector<final_outcome> const&);
  bool wait(std::string const& why);

  run_options const& options_;
  std::function<bool()> interrupted_;
  std::string said_{};  // why it waits, the last time
  std::optional<time_point> waits_since_{};
  std::stop_source stop_{};  // ends what the engine is asked
  rng chance_;
  queue_engine engine_;
  std::unique_ptr<intake> file_{};             // of the starter
  std::string own_text_{};                     // what it would tell workers
  std::unordered_set<std::string> origins_{};  // of JOBS, where credentials go there
  fleet_ledger* ledger_ = nullptr;             // it lives as long as the run records
  std::unique_ptr<fleet_ledger> unused_{};
  std::unique_ptr<fleet_source> source_{};
};

}  // namespace headway::app
