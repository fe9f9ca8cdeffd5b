/// An account: who pays and is throttled, and so what is stopped together.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace headway::app {

/// Returns the account of a request, three lines: the origin that it goes to, the digest of its
/// credential, and the scope that its job names.
std::string account_of(std::string_view origin, std::string_view credential,
                       std::string_view scope);

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
