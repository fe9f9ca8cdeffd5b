#include "os/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/live_line.hpp"

namespace headway::app {
namespace {

fatal failure(char const* verb, std::string const& path, int error) {
  bool const misnamed = error == EISDIR || error == ELOOP;
  return {error == EPIPE ? exit_pipe
          : misnamed     ? exit_usage
                         : exit_io,
          fmt::format("cannot {} {}: {}", verb, path, std::strerror(error))};
}

[[noreturn]] void fail(char const* verb, std::string const& path, int error) {
  throw failure(verb, path, error);
}

// The process that holds a flock(2) on the file behind `fd`, or 0 if the kernel does not say.
long holder_of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return 0;
  auto const file =
      fmt::format(" {:02x}:{:02x}:{} ", major(status.st_dev), minor(status.st_dev), status.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    long pid = 0;  // "1: FLOCK  ADVISORY  WRITE 708 fe:00:264519 0 EOF"
    if (line.find(file) != std::string::npos &&
        std::sscanf(line.c_str(), "%*s FLOCK %*s WRITE %ld", &pid) == 1)
      return pid;
  }
  return 0;
}

}  // namespace

disk_calls& disk() noexcept {
  static disk_calls calls{
      [](char const* path, int flags, mode_t mode) { return ::open(path, flags, mode); },
      ::write,
      ::ftruncate,
      ::fdatasync,
      ::fsync,
      ::unlink};
  return calls;
}

std::size_t write_all(int fd, std::string_view bytes) noexcept {
  live_line::pause const alone(fd, bytes);
  std::size_t written = 0;
  while (written < bytes.size()) {
    auto const n = disk().write(fd, bytes.data() + written, bytes.size() - written);
    if (n >= 0) {
      written += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN) {  // a shell may share a non-blocking stdout with us
      pollfd writable{fd, POLLOUT, 0};
      ::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      break;
    }
  }
  return written;
}

fatal unprinted(int error) {
  return failure("write", "standard output", error);
}

file file::open(std::string path, int flags) {
  int const fd = disk().open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) fail("open", path, errno);
  file opened(fd, std::move(path));
  opened.named_ = true;
  return opened;
}

file file::results(std::string path) {
  return open(std::move(path), O_RDWR | O_CREAT | O_APPEND);
}

file::file(int fd, std::string path) noexcept : fd_(fd), path_(std::move(path)) {
  struct stat status {};
  regular_ = ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode);
}

file::file(file&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      broken_(other.broken_),
      regular_(other.regular_),
      named_(other.named_),
      path_(std::move(other.path_)) {}

file& file::operator=(file&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(broken_, other.broken_);
  std::swap(regular_, other.regular_);
  std::swap(named_, other.named_);
  path_.swap(other.path_);
  return *this;
}

file::~file() {
  if (fd_ >= 0) ::close(fd_);
}

void file::append(std::string_view bytes) {
  if (broken_ != 0) fail("write", path_, broken_);
  auto const written = write_all(fd_, bytes);
  if (written == bytes.size()) return;
  int const error = errno;
  if (regular_ && written > 0) truncate(size() - static_cast<std::int64_t>(written));
  fail("write", path_, error);
}

void file::overwrite(std::string_view bytes) {
  if (::lseek(fd_, 0, SEEK_SET) != 0 || write_all(fd_, bytes) != bytes.size())
    fail("write", path_, errno);
}

void file::require_untouched(std::int64_t size) const {
  if (!regular_ || !named_) return;
  auto const refuse = [&](std::string_view what) {
    throw fatal(exit_io, fmt::format("{} {} while this run wrote to it", path_, what));
  };
  struct stat ours {};
  struct stat theirs {};
  if (::fstat(fd_, &ours) != 0) fail("read", path_, errno);
  if (ours.st_nlink == 0 || ::stat(path_.c_str(), &theirs) != 0 || ours.st_ino != theirs.st_ino ||
      ours.st_dev != theirs.st_dev)
    refuse("was removed, renamed or replaced");
  if (ours.st_size < size) refuse("was cut");
  if (ours.st_size > size) refuse("was written to by another process");
}

void file::sync() {
  if (broken_ != 0) fail("write", path_, broken_);
  if (!regular_ || disk().sync(fd_) == 0) return;
  broken_ = errno;
  fail("write", path_, broken_);
}

void file::sync_name() {
  auto folder = std::filesystem::absolute(path_).parent_path().string();
  auto const opened = open(std::move(folder), O_RDONLY | O_DIRECTORY);
  if (disk().sync_folder(opened.fd()) != 0) fail("write", opened.path(), errno);
}

void file::truncate(std::int64_t size) {
  while (disk().truncate(fd_, size) != 0)
    if (errno != EINTR) fail("truncate", path_, errno);
}

std::int64_t file::size() const {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) fail("read", path_, errno);
  return status.st_size;
}

void file::lock() {
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) fail("lock", path_, errno);
  auto const holder = holder_of(fd_);
  throw fatal(exit_parked, fmt::format("another run{} holds {}",
                                       holder > 0 ? fmt::format(" (pid {})", holder) : "", path_));
}

}  // namespace headway::app
