/// A steady file: one that is read several times, and must not change meanwhile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "os/file.hpp"

namespace headway::app {

/// Reads a regular file by blocks, as long as it was when it was opened: what is appended is left
/// alone. A block that is read again must be what it was; 16 bytes of each are remembered.
class steady_file {
 public:
  static constexpr std::size_t block_bytes = 256 * 1024;

  explicit steady_file(file opened);

  int fd() const noexcept { return file_.fd(); }
  std::int64_t size() const noexcept { return size_; }

  /// The block `number` (the first is 0), valid until the next call; "" beyond the last. For the
  /// first time blocks come in their order. Errors: fatal(exit_usage) where it cannot be read, has
  /// become shorter or was edited.
  std::string_view block(std::size_t number);

 private:
  using digest = std::array<unsigned char, 16>;  // of SHA-256

  file file_;
  std::int64_t size_;
  std::string block_;
  std::vector<digest> known_;
};

}  // namespace headway::app
