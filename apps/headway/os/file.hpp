/// A file that is appended to: the one layer through which every byte of the results goes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fatal.hpp"

namespace headway::app {

/// The system calls by which a `file` changes what is on the disk. Tests put others in their place,
/// to record them or to make them fail, while there is no other thread.
struct disk_calls {
  int (*open)(char const* path, int flags, mode_t mode);
  ssize_t (*write)(int fd, void const* bytes, std::size_t size);
  int (*truncate)(int fd, off_t size);
  int (*sync)(int fd);         // fdatasync(2)
  int (*sync_folder)(int fd);  // fsync(2)
  int (*unlink)(char const* path);
};
disk_calls& disk() noexcept;

/// Owns a POSIX descriptor. Whatever goes wrong is `fatal(exit_io, "cannot … PATH: why")`.
///
/// A failed sync breaks the file for good: the kernel forgets which pages it could not write, so
/// that a second sync would report success for data that is lost. From then on every append and
/// sync throws.
class file {
 public:
  /// Opens `path`, with `flags` as in open(2); O_CLOEXEC is added, a created file has mode 0600.
  /// A directory, or a symbolic link under O_NOFOLLOW, is fatal(exit_usage).
  static file open(std::string path, int flags);

  /// The results file at `path`: created if it is not there, opened for appending.
  static file results(std::string path);

  /// Takes over `fd`, known to users as `path`.
  file(int fd, std::string path) noexcept;
  file(file&& other) noexcept;
  file& operator=(file&& other) noexcept;
  ~file();

  /// All of `bytes` or none: what a full disk took of them is cut off again (not from a pipe).
  void append(std::string_view bytes);

  /// Puts `bytes` where the file begins.
  void overwrite(std::string_view bytes);

  /// Throws unless the file, if it was opened by name, still has that name and `size` bytes: else
  /// another process has removed, renamed, cut or written to it. Does nothing to a pipe or a
  /// device.
  void require_untouched(std::int64_t size) const;

  /// Returns once everything appended is on the disk. Does nothing to a pipe or a device.
  void sync();

  /// Makes a newly created file's name as durable as its content.
  void sync_name();

  void truncate(std::int64_t size);
  std::int64_t size() const;

  /// Can be cut, measured and synced: neither a pipe nor a terminal nor a device.
  bool regular() const noexcept { return regular_; }

  /// Holds the file against everyone else until it is closed or the process dies (flock(2)).
  /// Throws fatal(exit_parked, "another run (pid N) holds PATH").
  void lock();

  int fd() const noexcept { return fd_; }
  std::string const& path() const noexcept { return path_; }

 private:
  int fd_;
  int broken_ = 0;  // errno of the sync that failed
  bool regular_ = false;
  bool named_ = false;  // path_ is where it was opened
  std::string path_;
};

/// Writes all of `bytes`, waiting where `fd` does not block; to a terminal in the place of its live
/// line. Returns how many were written; fewer than all: see errno.
std::size_t write_all(int fd, std::string_view bytes) noexcept;

/// Returns what ends the program where standard output could not be written: `error` is why, an
/// errno.
fatal unprinted(int error);

}  // namespace headway::app
