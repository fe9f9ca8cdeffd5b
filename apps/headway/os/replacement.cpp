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

}  // namespace

replacement::replacement(std::string path, int begins)
    : path_(std::move(path)),
      file_(begins == O_APPEND ? taken_up(path_ + ".new") : afresh(path_ + ".new")) {}

replacement::~replacement() {
  if (!put_) ::unlink(file_.path().c_str());
}

void replacement::let_all_read() {
  if (::fchmod(file_.fd(), 0644) != 0)
    throw fatal(exit_io, fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

bool replacement::put_new() {
  if (::link(file_.path().c_str(), path_.c_str()) == 0) return true;  // and .new goes in the end
  if (errno == EEXIST) return false;
  put();  // a file system without links
  return true;
}

void replacement::put() {
  if (::rename(file_.path().c_str(), path_.c_str()) != 0)
    throw fatal(exit_io, fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
  put_ = true;
}

}  // namespace headway::app
