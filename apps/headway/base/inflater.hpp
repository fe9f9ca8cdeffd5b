/// Compressed bodies, decompressed as they come.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <functional>
#include <string_view>

namespace headway::app {

/// Decompresses gzip and deflate (RFC 9110 §8.4.1; deflate also without zlib's frame, as some
/// servers mean it). What follows the end of a stream and is no other gzip is passed over.
class inflater {
 public:
  /// Returns whether a Content-Encoding is one that it reads.
  static bool reads(std::string_view coding) noexcept;

  /// Requires: reads(coding).
  explicit inflater(std::string_view coding) noexcept;
  ~inflater();
  inflater(inflater const&) = delete;
  inflater& operator=(inflater const&) = delete;

  /// Takes the next bytes, and gives what they become to `use`, 16 KiB at most at once, until that
  /// returns false. Returns false where it did, and where the bytes are not what they should be.
  bool take(std::string_view bytes, std::function<bool(std::string_view)> const& use);

  /// Returns whether all has come.
  bool ended() const noexcept { return state_ == state::ended; }

 private:
  enum class state : std::uint8_t { fresh, open, ended };
  bool begin(unsigned char first) noexcept;
  bool go_on(std::function<bool(std::string_view)> const& use);

  bool const may_be_raw_;
  state state_ = state::fresh;
  z_stream zlib_{};
};

}  // namespace headway::app
