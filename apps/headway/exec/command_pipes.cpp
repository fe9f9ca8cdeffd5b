#include "exec/command_pipes.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

namespace headway::app {
namespace {

constexpr std::size_t hints_max = 65536;

int text_in_memory(std::string const& text) {
  int const fd = ::memfd_create("input", MFD_CLOEXEC);
  if (fd >= 0 && (write_all(fd, text) < text.size() || ::lseek(fd, 0, SEEK_SET) != 0)) {
    ::close(fd);
    return -1;
  }
  return fd;
}

template <std::size_t N>
void close_all(std::array<int, N>& fds) noexcept {
  for (int& fd : fds)
    if (fd >= 0) ::close(std::exchange(fd, -1));
}

}  // namespace

command_pipes& command_pipes::operator=(command_pipes&& other) noexcept {
  std::swap(ours_, other.ours_);
  std::swap(theirs_, other.theirs_);
  return *this;
}

bool command_pipes::open(std::optional<std::string> const& input) {
  close();
  theirs_[0] = input ? text_in_memory(*input) : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  auto opened = theirs_[0] >= 0;
  for (std::size_t i = 0; opened && i < ours_.size(); ++i) {
    std::array<int, 2> ends{};
    opened = ::pipe2(ends.data(), O_CLOEXEC) == 0;
    if (!opened) break;
    ours_[i] = ends[0];
    theirs_[i + 1] = ends[1];
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  if (opened) {
    ::fcntl(theirs_[3], F_SETFL, O_NONBLOCK);  // a command that says too much does not wait for us
    return true;
  }
  auto const why = errno;
  close();
  errno = why;
  return false;
}

void command_pipes::give(command_start& c) const noexcept {
  c.input = theirs_[0];
  c.output = theirs_[1];
  c.error = theirs_[2];
  c.hints = theirs_[3];
}

void command_pipes::close_theirs() noexcept {
  close_all(theirs_);
}

void command_pipes::close() noexcept {
  close_all(ours_);
  close_all(theirs_);
}

std::string command_pipes::hints() const {
  std::string said(hints_max, '\0');
  auto const n = ::read(ours_[2], said.data(), said.size());
  said.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return said;
}

std::size_t bytes_in(int pipe) noexcept {
  int bytes = 0;
  return ::ioctl(pipe, FIONREAD, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

}  // namespace headway::app
