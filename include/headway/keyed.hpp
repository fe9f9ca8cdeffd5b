#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "headway/time.hpp"

namespace headway {

/// A bounded map from scope (one server limit: host, credential, …) to governor.
///
/// Keeps at most `scopes_max` governors. A new scope evicts the least recently used one that is
/// idle: nothing waits, nothing flies, and neither a server hint nor its pace holds its next
/// request. If all are busy there is no governor, and the caller waits: a scope is never unlimited
/// for lack of room, though an evicted one has forgotten what it learned. References stay valid
/// until the governor is evicted. Threads: distinct objects safe, shared objects unsafe.
template <class Governor>
class keyed {
 public:
  /// Makes the governor of each new scope by `make`.
  explicit keyed(std::size_t scopes_max, std::function<Governor(std::string_view scope)> make)
      : scopes_max_(scopes_max), make_(std::move(make)) {}

  /// Returns the governor of `scope`, made if need be, or null if scopes_max are busy. Amortised
  /// O(1) unless it evicts. An exception, of `make` or for lack of memory, leaves the map
  /// unchanged.
  Governor* at(time_point now, std::string_view scope) {
    if (auto const found = index_.find(scope); found != index_.end()) {
      used_.splice(used_.begin(), used_, found->second);
      return &found->second->second;
    }
    auto const full = used_.size() >= scopes_max_;
    auto const idle = full ? least_recently_used_idle(now) : used_.end();
    if (full && idle == used_.end()) return nullptr;
    std::list<entry> made;
    made.emplace_front(std::string(scope), make_(scope));
    auto& governor = made.front().second;
    if constexpr (requires { governor.hold(now); }) {
      for (auto const& [prefix, until] : holds_)
        if (until > now && scope.starts_with(prefix)) governor.hold(until);
    }
    index_.emplace(made.front().first, made.begin());  // from here on nothing can fail
    if (full) {
      index_.erase(idle->first);
      used_.erase(idle);
    }
    used_.splice(used_.begin(), made);
    return &governor;
  }

  /// Returns when there is room for one more if nothing happens before; `never`: not until a
  /// request ends. O(scopes).
  time_point room_at() const {
    if (used_.size() < scopes_max_) return time_point::min();
    auto at = never;
    for (auto const& [scope, governor] : used_) at = std::min(at, idle_from(governor));
    return at;
  }

  /// Holds all scopes that begin with `prefix`, present and future, until `until`. Needs
  /// Governor::hold. O(scopes).
  ///
  /// Keeps holds of holds_max prefixes. A further one merges with the most similar prefix, which
  /// holds too much rather than too little. Throws for lack of memory, and then has held nothing.
  void hold(time_point now, std::string_view prefix, time_point until) {
    std::map<std::string, time_point> newest;  // its node is all that is allocated
    auto node = newest.extract(newest.emplace(prefix, until).first);
    std::erase_if(holds_, [&](auto const& kept) { return kept.second <= now; });
    if (holds_.size() >= holds_max && !holds_.contains(node.key())) {
      auto const near = most_like(node.key());
      node.key().resize(common(node.key(), near->first));
      node.mapped() = std::max(until, near->second);
      holds_.erase(near);
    }
    auto const kept = holds_.insert(std::move(node));
    auto& [held, held_until] = *kept.position;
    if (!kept.inserted) held_until = std::max(held_until, kept.node.mapped());
    for (auto& [scope, governor] : used_)
      if (scope.starts_with(held)) governor.hold(held_until);
  }
  static constexpr std::size_t holds_max = 64;  ///< most prefixes held at once

  /// Returns the number of scopes with a governor.
  std::size_t size() const noexcept { return used_.size(); }
  /// Returns an iterator over pairs (scope, governor), the most recently used first.
  auto begin() noexcept { return used_.begin(); }
  /// Returns the end of begin().
  auto end() noexcept { return used_.end(); }

 private:
  using entry = std::pair<std::string const, Governor>;

  /// Returns from when on it may be evicted; `never` while something waits or flies.
  static time_point idle_from(Governor const& g) {
    return g.in_flight() == 0 && g.waiting() == 0 ? g.busy_until() : never;
  }
  typename std::list<entry>::iterator least_recently_used_idle(time_point now) {
    for (auto it = used_.end(); it != used_.begin();)
      if (idle_from((--it)->second) <= now) return it;
    return used_.end();
  }

  static std::size_t common(std::string_view a, std::string_view b) noexcept {
    auto const same = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
    return static_cast<std::size_t>(same - a.begin());
  }
  std::map<std::string, time_point>::iterator most_like(std::string_view key) {
    return std::max_element(holds_.begin(), holds_.end(), [&](auto const& a, auto const& b) {
      return common(a.first, key) < common(b.first, key);
    });
  }

  std::size_t scopes_max_;
  std::function<Governor(std::string_view)> make_;
  std::list<entry> used_;  // most recently used first
  std::unordered_map<std::string_view, typename std::list<entry>::iterator> index_;
  std::map<std::string, time_point> holds_;  // until when, by prefix
};

}  // namespace headway
