/// The watermark: how far a journal has got, written down outside of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "os/file.hpp"

namespace headway::app {

enum class durability : std::uint8_t;

/// SQLite drops what follows a damaged frame of a write-ahead log, and a log that is not there,
/// without a word. So the number of commits that were acknowledged stands in a small file beside
/// the journal as well, from when a run starts until it ends well: a journal that knows of fewer
/// was rolled back.
///
/// It is written after the commit and not synced: a death of the process leaves it exact, and a
/// power cut at most behind, since the low bytes come first and the number only grows. What a run
/// of durability::process wrote is believed until the next boot only, for there the commits may be
/// lost too. Errors: fatal. Threads: one.
class watermark {
 public:
  /// Of the journal at `path`.
  explicit watermark(std::string const& path) : path_(path + "-mark") {}

  std::string const& path() const noexcept { return path_; }

  /// Returns how many commits were acknowledged, as far as that can be believed; nullopt where the
  /// file is missing or short.
  std::optional<std::int64_t> read() const;

  /// Makes `commits` what the file says, durably; creates it where there is none.
  void write(std::int64_t commits, durability level);

  /// `commits`, which are more, are acknowledged from now on. To be called after write().
  void raise(std::int64_t commits);

  /// The journal speaks for itself from now on.
  void remove();

 private:
  std::string path_;
  std::optional<file> file_;
};

}  // namespace headway::app
