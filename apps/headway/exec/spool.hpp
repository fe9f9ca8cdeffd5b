/// A spool: what a command prints on one stream, in memory while it is little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "os/file.hpp"

namespace headway::app {

/// An output that has come to its end: text, or a file that has it from its beginning on.
struct spooled {
  std::string text{};
  std::shared_ptr<file> in{};  ///< null: it is in `text`
  std::int64_t size = 0;
};

/// Errors: fatal(exit_io), where a file cannot be written. Threads: one.
class spool {
 public:
  static constexpr std::size_t memory_max = std::size_t{256} << 10;

  /// `path`: the file that takes what is more than that; "": one without a name.
  void begin(std::string path);
  /// All of it goes to this file, too, which stays; until end_copy() or the end of all.
  void copy_to(file to) { copy_.emplace(std::move(to)); }
  void end_copy() noexcept { copy_.reset(); }
  void append(std::string_view bytes);
  /// The first bytes that are in memory, at most `most`; "" once it is in a file.
  std::string_view head(std::size_t most) const { return std::string_view(text_).substr(0, most); }
  /// The last bytes of it, at most `most`.
  std::string tail(std::size_t most) const;
  bool in_file() const noexcept { return file_ != nullptr; }
  std::int64_t size() const noexcept { return size_; }
  spooled take() noexcept;
  /// Removes a file that has a name.
  void drop() noexcept;

 private:
  std::string path_{};
  std::string text_{};
  std::shared_ptr<file> file_{};
  std::optional<file> copy_{};
  std::int64_t size_ = 0;
};

}  // namespace headway::app
