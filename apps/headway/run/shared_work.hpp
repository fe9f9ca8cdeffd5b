/// Shared work: a queue that other runs work on as well, as the runner sees it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "journal/ledger.hpp"
#include "run/options.hpp"
#include "run/source.hpp"

namespace headway::app {

/// Threads: one.
class shared_work {
 public:
  shared_work() = default;
  shared_work(shared_work const&) = delete;
  shared_work& operator=(shared_work const&) = delete;
  virtual ~shared_work() = default;

  /// Its requests; valid as long as the ledger is.
  virtual source& requests() = 0;
  /// Where they are recorded; to be called once.
  virtual std::unique_ptr<ledger> keeper() = 0;

  /// All runs together may spend so much of a quota.
  virtual void allow(quota_units) = 0;
  /// This run has found a reason why no worker should go on.
  virtual void stop_all() = 0;
  /// How all of it stands, for people: lines.
  virtual std::string words() const = 0;
  /// The run is over, and its ledger is closed: writes what is made of the results, unless
  /// `hurried`. Returns the exit code where that is neither "all succeeded" nor "some failed", and
  /// says why.
  virtual std::optional<int> conclude(bool hurried) = 0;
};

/// Uploads JOBS, or joins a queue, as `options` say; what the queue says of results is set in them.
/// `headers`: lines that go out beside those of --header. `interrupted`: it is to give up. Null
/// where the options name no queue. Errors: fatal.
std::unique_ptr<shared_work> share_work(run_options& options, std::vector<std::string> headers,
                                        std::function<bool()> interrupted);

}  // namespace headway::app
