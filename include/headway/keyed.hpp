#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "headway/time.hpp"

namespace headway {

/// A bounded map from scope (one server limit: host, credential, …) to governor.
///
/// At most `scopes_max` governors. A new scope evicts the least recently used one that is idle
/// (nothing waits, nothing flies, no server hint holds it); when all are busy there is no governor,
/// and the caller waits: a scope is never unlimited for lack of room. References stay valid until
/// the governor is evicted. Threads: distinct objects safe, shared objects unsafe.
template <class Governor>
class keyed {
 public:
  explicit keyed(std::size_t scopes_max, std::function<Governor(std::string_view scope)> make)
      : scopes_max_(scopes_max), make_(std::move(make)) {}

  /// The governor of `scope`, made if need be; null when scopes_max are busy. Amortised O(1) unless
  /// it evicts.
  Governor* at(time_point now, std::string_view scope) {
    if (auto const found = index_.find(scope); found != index_.end()) {
      used_.splice(used_.begin(), used_, found->second);
      return &found->second->second;
    }
    if (used_.size() >= scopes_max_ && !evict(now)) return nullptr;
    used_.emplace_front(std::string(scope), make_(scope));
    index_.emplace(used_.front().first, used_.begin());
    return &used_.front().second;
  }

  std::size_t size() const noexcept { return used_.size(); }
  auto begin() noexcept { return used_.begin(); }
  auto end() noexcept { return used_.end(); }

 private:
  using entry = std::pair<std::string const, Governor>;

  bool evict(time_point now) {
    for (auto it = used_.end(); it != used_.begin();) {
      --it;
      auto const& g = it->second;
      if (g.in_flight() > 0 || g.waiting() > 0 || g.held_until() > now) continue;
      index_.erase(it->first);
      used_.erase(it);
      return true;
    }
    return false;
  }

  std::size_t scopes_max_;
  std::function<Governor(std::string_view)> make_;
  std::list<entry> used_;  // most recently used first
  std::unordered_map<std::string_view, typename std::list<entry>::iterator> index_;
};

}  // namespace headway
