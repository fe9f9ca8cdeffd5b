#include "exec/printer.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

namespace headway::app {
namespace {

std::size_t weight(printed const& p) {
  return p.output.text.size() + p.error.text.size() + sizeof p;
}

}  // namespace

printer::printer(bool ordered) : ordered_(ordered) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

printer::~printer() {
  stop();
}

void printer::print(std::int64_t number, printed p) {
  {
    std::lock_guard const held(mutex_);
    bytes_ += weight(p);
    ++count_;
    waiting_.emplace(number, std::move(p));
  }
  wake_.notify_one();
}

int printer::end() {
  {
    std::lock_guard const held(mutex_);
    gaps_ = false;
  }
  stop();
  return failure();
}

void printer::stop() {
  {
    std::lock_guard const held(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void printer::work() {
  std::unique_lock held(mutex_);
  auto const ready = [&] {
    return !waiting_.empty() && (!ordered_ || !gaps_ || waiting_.begin()->first == next_);
  };
  for (;;) {
    wake_.wait(held, [&] { return stopping_ || ready(); });
    if (!ready()) return;
    auto one = waiting_.extract(waiting_.begin());
    next_ = one.key() + 1;
    held.unlock();
    write(one.mapped());
    bytes_ -= weight(one.mapped());
    --count_;
    one = {};
    held.lock();
  }
}

void printer::write(printed const& p) {
  write(STDOUT_FILENO, p.tag, p.output);
  write(STDERR_FILENO, p.tag, p.error);
}

void printer::write(int fd, std::string const& tag, spooled const& s) {
  bool line_begins = true;
  if (!s.in) {
    put(fd, tag, s.text, line_begins);
    return;
  }
  std::vector<char> block(std::size_t{256} << 10);
  for (std::int64_t at = 0; at < s.size && failure() == 0;) {
    auto const want = std::min(static_cast<std::int64_t>(block.size()), s.size - at);
    auto const n = ::pread(s.in->fd(), block.data(), static_cast<std::size_t>(want), at);
    if (n <= 0) return;
    put(fd, tag, {block.data(), static_cast<std::size_t>(n)}, line_begins);
    at += n;
  }
}

void printer::put(int fd, std::string const& tag, std::string_view bytes, bool& line_begins) {
  if (bytes.empty() || failure() != 0) return;
  std::string tagged;
  if (!tag.empty()) {
    for (char const c : bytes) {
      if (line_begins) tagged.append(tag) += '\t';
      tagged += c;
      line_begins = c == '\n';
    }
    bytes = tagged;
  }
  if (write_all(fd, bytes) < bytes.size() && fd == STDOUT_FILENO)
    failure_.store(errno, std::memory_order_relaxed);
}

}  // namespace headway::app
