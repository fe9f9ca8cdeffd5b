/// The pipes of a command: what it prints, and what it says on HEADWAY_FD.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "exec/guard.hpp"
#include "os/file.hpp"

namespace headway::app {

/// Our ends; the command has the others. None of them blocks us. Threads: one.
class command_pipes {
 public:
  command_pipes() = default;
  command_pipes(command_pipes&& other) noexcept { *this = std::move(other); }
  command_pipes& operator=(command_pipes&& other) noexcept;
  ~command_pipes() { close(); }

  /// Opens them; `input` is what the command reads, nullopt: nothing. False, with errno, where
  /// there can be no further descriptor.
  bool open(std::optional<std::string> const& input);
  /// Gives the command its ends, which close_theirs() closes here.
  void give(command_start&) const noexcept;
  void close_theirs() noexcept;
  void close() noexcept;

  int output() const noexcept { return ours_[0]; }
  int error() const noexcept { return ours_[1]; }
  /// Returns what it has said on HEADWAY_FD.
  std::string hints() const;

 private:
  std::array<int, 3> ours_{-1, -1, -1};
  std::array<int, 4> theirs_{-1, -1, -1, -1};  // input, output, error, hints
};

/// Returns how many bytes a pipe holds.
std::size_t bytes_in(int pipe) noexcept;

}  // namespace headway::app
