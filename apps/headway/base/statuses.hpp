/// HTTP statuses, as `--ok` lists them.
#pragma once

#include <bitset>
#include <cstddef>
#include <string_view>

namespace headway::app {

/// A set of the statuses that an answer can end with, 200 to 599.
class statuses {
 public:
  static constexpr int first = 200, last = 599;

  /// 200 to 299.
  statuses() noexcept { add(200, 299); }

  /// "200-299,404". Throws std::invalid_argument, whose text says what is wrong and what is
  /// allowed.
  static statuses parse(std::string_view text);

  bool contains(int status) const noexcept {
    return status >= first && status <= last && set_[index(status)];
  }

 private:
  static std::size_t index(int status) noexcept { return static_cast<std::size_t>(status - first); }
  void add(int from, int to) noexcept {
    for (int s = from; s <= to; ++s) set_.set(index(s));
  }

  std::bitset<last - first + 1> set_;
};

}  // namespace headway::app
