/// The window that a server tells of: so many requests in such a time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headway/http/advice.hpp"
#include "headway/time.hpp"

namespace headway::app {

/// Learns it where all of it was used. Its length is the longest reset that is told of the next
/// one: the first may have begun before. Threads: a value.
class told_window {
 public:
  /// An answer tells these.
  void look(std::span<http::quota const>);

  /// Returns whether it tells of any.
  bool any() const noexcept { return !known_.empty(); }
  /// Returns whether all of one was used.
  bool spent() const noexcept;
  /// Returns those of which all was used and the length is known: "100 in 20 s"; "" for none.
  std::string words() const;

 private:
  static constexpr std::size_t names_max = 4;

  struct known {
    std::string name;
    double limit = 0;
    bool spent = false;
    duration left{};    // of the first that was, when it was, at least
    duration length{};  // zero: not known
  };
  std::vector<known> known_{};
};

}  // namespace headway::app
