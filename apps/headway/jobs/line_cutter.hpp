/// A line cutter: lines out of bytes, however these are cut.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headway::app {

/// Threads: one.
class line_cutter {
 public:
  /// `end`: of each line; the last one needs none.
  explicit line_cutter(char end = '\n') noexcept : end_(end) {}

  void feed(std::string_view bytes) {
    buffer_.erase(0, begin_);
    scanned_ -= begin_;
    begin_ = 0;
    buffer_ += bytes;
  }
  /// There are no more bytes.
  void finish() noexcept { finished_ = true; }
  bool finished() const noexcept { return finished_; }

  /// The next line without its end, valid until the next feed(); nullopt: more bytes are needed.
  std::optional<std::string_view> next() {
    auto const end = buffer_.find(end_, scanned_);
    scanned_ = std::min(end, buffer_.size());
    auto const line = std::string_view(buffer_).substr(begin_, scanned_ - begin_);
    if (end != buffer_.npos)
      begin_ = ++scanned_;
    else if (finished_ && !line.empty())
      begin_ = scanned_;
    else
      return std::nullopt;
    ++count_;
    return line;
  }

  /// Lines so far.
  std::int64_t count() const noexcept { return count_; }
  /// Bytes of the line that has begun.
  std::size_t begun() const noexcept { return scanned_ - begin_; }

 private:
  char end_;
  std::string buffer_{};
  std::size_t begin_ = 0;    // of what has not been handed out
  std::size_t scanned_ = 0;  // up to here there is no line end
  bool finished_ = false;
  std::int64_t count_ = 0;
};

}  // namespace headway::app
