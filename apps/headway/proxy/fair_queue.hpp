/// A fair queue: which of the requests that wait goes next.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "proxy/state.hpp"

namespace headway::app::proxy {

/// Three classes, each before the next, but one turn of ten goes to the lowest that waits. Within a
/// class clients take turns; the requests of a client go in their order. No clock; first() is O(1),
/// all else O(log clients).
template <class T>
class fair_queue {
  struct line {
    std::string client;
    std::list<T> items{};
  };
  using ring = std::list<line>;  // whose turn it is, first
  struct rank {
    ring clients{};
    std::map<std::string_view, typename ring::iterator> by_name{};
    std::size_t size = 0;
  };

 public:
  /// A place in the queue, by which its owner leaves it.
  struct place {
    priority of = priority::normal;
    typename ring::iterator client{};
    typename std::list<T>::iterator item{};
  };

  /// `at_front`: it had a turn, and needs another.
  place push(T item, priority of, std::string_view client, bool at_front = false) {
    auto& r = ranks_[static_cast<std::size_t>(of)];
    auto known = r.by_name.find(client);
    if (known == r.by_name.end()) {
      auto const made = r.clients.insert(r.clients.end(), line{std::string(client)});
      known = r.by_name.emplace(made->client, made).first;
    }
    auto const where = known->second;
    auto& items = where->items;
    if (at_front) r.clients.splice(r.clients.begin(), r.clients, where);
    auto const it = items.insert(at_front ? items.begin() : items.end(), std::move(item));
    ++r.size;
    ++size_;
    return {of, where, it};
  }

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  std::size_t size(priority of) const noexcept { return ranks_[static_cast<std::size_t>(of)].size; }

  /// Returns what goes next. Requires: not empty.
  T const& first() const noexcept { return rank_to_go().clients.front().items.front(); }

  /// Takes first() out: it has had its turn.
  void pop() {
    auto& r = const_cast<rank&>(rank_to_go());
    ++turns_;
    auto const client = r.clients.begin();
    if (client->items.size() > 1) r.clients.splice(r.clients.end(), r.clients, client);
    erase(r, client, client->items.begin());
  }

  /// Takes one out that will not go.
  void remove(place const& p) { erase(ranks_[static_cast<std::size_t>(p.of)], p.client, p.item); }

  /// Returns how many turns come before that of a request which this client adds now, but for those
  /// that arrive later.
  std::size_t ahead(priority of, std::string_view client) const {
    std::size_t n = 0;
    for (std::size_t c = 0; c < static_cast<std::size_t>(of); ++c) n += ranks_[c].size;
    auto const& r = ranks_[static_cast<std::size_t>(of)];
    auto const own = r.by_name.find(client);
    auto const rounds = own == r.by_name.end() ? 0 : own->second->items.size();
    for (auto const& l : r.clients) n += std::min(l.items.size(), rounds + 1);
    return n;
  }

  /// Calls f(client, how many wait) for each client of each class.
  template <class F>
  void each_client(F f) const {
    for (auto const& r : ranks_)
      for (auto const& l : r.clients) f(l.client, l.items.size());
  }
  /// Calls f for each that waits.
  template <class F>
  void each(F f) const {
    for (auto const& r : ranks_)
      for (auto const& l : r.clients) std::ranges::for_each(l.items, f);
  }

 private:
  static constexpr unsigned lowest_each = 10;

  rank const& rank_to_go() const noexcept {
    auto const lowest = turns_ % lowest_each == lowest_each - 1;
    for (std::size_t i = 0; i < priorities; ++i) {
      auto const& r = ranks_[lowest ? priorities - 1 - i : i];
      if (r.size > 0) return r;
    }
    return ranks_.front();
  }

  void erase(rank& r, typename ring::iterator client, typename std::list<T>::iterator item) {
    client->items.erase(item);
    --r.size;
    --size_;
    if (!client->items.empty()) return;
    r.by_name.erase(client->client);
    r.clients.erase(client);
  }

  std::array<rank, priorities> ranks_{};
  std::size_t size_ = 0;
  std::uint32_t turns_ = 0;
};

}  // namespace headway::app::proxy
