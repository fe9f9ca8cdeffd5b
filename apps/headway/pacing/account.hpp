/// An account: who pays and is throttled, and so what is stopped together.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>

#include "jobs/job.hpp"

namespace headway::app {

/// As far as requests tell: the origin that `j` goes to, the credential that `headers` carry (its
/// digest), and the scope that the job names. Three lines.
std::string account_of(job const& j, std::span<std::string const> headers);

/// The accounts that a run sends nothing more to. Scopes may be evicted and come again; this
/// remembers.
class stopped_accounts {
 public:
  static constexpr std::size_t accounts_max = 10'000;

  void insert(std::string account) { all_.insert(std::move(account)); }
  bool contains(std::string const& account) const { return all_.contains(account); }
  bool empty() const noexcept { return all_.empty(); }
  /// There is no room for more: the run is to stop.
  bool full() const noexcept { return all_.size() >= accounts_max; }

 private:
  std::unordered_set<std::string> all_;
};

}  // namespace headway::app
