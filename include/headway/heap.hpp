#pragma once

#include <cstddef>
#include <vector>

namespace headway {

/// A priority queue of small items with the least by `<` on top.
///
/// 4-ary: half the levels of a binary heap, and half the cache misses of a large one. Equal items
/// come in any order, the same in each run. O(log n) unless stated. Threads: a value.
template <class Item>
class heap {
 public:
  /// Returns whether it has no items.
  bool empty() const noexcept { return items_.empty(); }
  /// Returns the number of items.
  std::size_t size() const noexcept { return items_.size(); }
  /// Returns the number of items that it has memory for.
  std::size_t capacity() const noexcept { return items_.capacity(); }
  /// Reserves memory for `count` items.
  void reserve(std::size_t count) { items_.reserve(count); }
  /// Returns the least item. Requires: not empty. O(1).
  Item const& top() const noexcept { return items_.front(); }
  /// Returns one of them: the least at 0. O(1).
  Item const& at(std::size_t i) const noexcept { return items_[i]; }

  /// Adds an item, in O(1) if it comes after all others.
  [[gnu::always_inline]] void push(Item const item) {
    items_.push_back(item);
    auto const last = items_.size() - 1;
    if (last > 0 && item < items_[parent(last)]) sift_up(last, item);
  }
  /// Removes the least item. Requires: not empty.
  void pop() noexcept {
    Item const last = items_.back();
    items_.pop_back();
    if (!items_.empty()) sift_down(0, last);
  }
  /// Replaces the least item: pop() and push() in one. Requires: not empty.
  void replace_top(Item const& item) noexcept { sift_down(0, item); }
  /// Removes all items for which `gone` is true. O(n).
  template <class Predicate>
  void erase_if(Predicate gone) {
    std::erase_if(items_, gone);
    for (auto i = items_.size(); i-- > 0;) sift_down(i, Item(items_[i]));
  }
  friend bool operator==(heap const&, heap const&) = default;

 private:
  static std::size_t parent(std::size_t i) noexcept { return (i - 1) / 4; }

  [[gnu::noinline]] void sift_up(std::size_t i, Item const item) noexcept {
    for (; i > 0 && item < items_[parent(i)]; i = parent(i)) items_[i] = items_[parent(i)];
    items_[i] = item;
  }
  [[gnu::noinline]] void sift_down(std::size_t i, Item const item) noexcept {
    auto const size = items_.size();
    for (auto child = 4 * i + 1; child < size; child = 4 * i + 1) {
      auto const grandchild = 4 * child + 1;
      if (grandchild + 16 < size)  // of a large heap they are far: a third of the time of 10^6
        for (auto far = grandchild; far < grandchild + 16; far += 4)
          __builtin_prefetch(&items_[far]);
      auto least = child;
      for (auto other = child + 1; other < child + 4 && other < size; ++other)
        if (items_[other] < items_[least]) least = other;
      if (!(items_[least] < item)) break;
      items_[i] = items_[least];
      i = least;
    }
    items_[i] = item;
  }

  std::vector<Item> items_;
};

}  // namespace headway
