#include "os/replacement.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/fatal.hpp"

namespace headway::app {
namespace {

/// What a killed run left there may have another mode.
file afresh(std::string path) {
  ::unlink(path.c_str());
  return file::open(std::move(path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
}

file taken_up(std::string path) {
  return file::open(std::move(path), O_WRONLY | O_APPEND | O_NOFOLLOW);
}

/// A device or a pipe, such as /dev/null and /dev/stdout: to be written to, not to be replaced.
bool is_no_file(std::string const& path) {
  struct stat s {};
  return ::stat(path.c_str(), &s) == 0 && (S_ISCHR(s.st_mode) || S_ISFIFO(s.st_mode));
}

file of_no_file(std::string const& path) {
  auto opened = file::open(path, O_WRONLY | O_NONBLOCK);  // a pipe that nothing reads fails
  ::fcntl(opened.fd(), F_SETFL, 0);
  return opened;
}

}  // namespace

replacement::replacement(std::string path, int begins)
    : path_(std::move(path)),
      in_place_(is_no_file(path_)),
      file_(in_place_            ? of_no_file(path_)
            : begins == O_APPEND ? taken_up(path_ + ".new")
                                 : afresh(path_ + ".new")) {}

replacement::~replacement() {
  if (!put_ && !in_place_) ::unlink(file_.path().c_str());
}

void replacement::let_all_read() {
  if (!in_place_ && ::fchmod(file_.fd(), 0644) != 0)
    throw fatal(exit_io, fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

bool replacement::put_new() {
  if (in_place_) return true;
  if (::link(file_.path().c_str(), path_.c_str()) == 0) return true;  // and .new goes in the end
  if (errno == EEXIST) return false;
  put();  // a file system without links
  return true;
}

void replacement::put() {
  if (!in_place_ && ::rename(file_.path().c_str(), path_.c_str()) != 0)
    throw fatal(exit_io, fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
  put_ = true;
}

}  // namespace headway::app
