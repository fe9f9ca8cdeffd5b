/// The head of an answer, as it arrives.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headway/http/advice.hpp"

namespace headway::app {

inline constexpr std::size_t fields_max = 256;
inline constexpr std::size_t header_max = 256 * 1024;  // bytes of an answer, trailers included

/// The fields of one answer, without those of interim ones before it and of trailers behind it.
class answer_head {
 public:
  /// Takes a line with its end. False where the rest is not to be read: the head is too long, or
  /// its end and that of the answer are anybody's guess.
  bool take(std::string_view line);

  /// Forgets all that it took.
  void clear();

  bool ended() const noexcept { return ended_; }
  bool too_long() const noexcept { return bytes_ > header_max; }
  /// Two different Content-Lengths (RFC 9112 §6.3).
  bool two_lengths() const noexcept { return two_lengths_; }
  /// A protocol that was not asked for follows (RFC 9110 §15.2.2): no answer comes.
  bool switches() const noexcept { return switches_; }
  /// Its Content-Length as it was written, "" without one.
  std::string_view length() const noexcept { return length_; }
  /// Its Content-Encoding as it was written, "" without one.
  std::string_view coding() const noexcept { return coding_; }

  /// Puts the first fields_max fields into `all`. They are valid until the next take() or clear().
  void read(std::vector<http::field>& all) const;

 private:
  void compare_length(std::string_view lengths);

  std::size_t bytes_ = 0;
  bool ended_ = false;
  bool two_lengths_ = false;
  bool switches_ = false;
  std::string length_;
  std::string coding_;
  std::string lines_;  // one for each field
};

}  // namespace headway::app
