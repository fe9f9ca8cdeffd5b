#include "journal/recorder.hpp"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "base/fatal.hpp"

namespace headway::app {
namespace {

// A group that no request waits for (it holds no intent) gathers so long, or until it is so big. A
// commit costs some 100 us of CPU whatever is in it; what a crash can undo in that time are answers
// to requests that may be sent again.
constexpr std::chrono::milliseconds gather_for{25};
constexpr std::size_t gather_bytes = 256 * 1024;

void keep(std::vector<note>& all, note n) {
  auto const same = std::ranges::find(all, n.key, &note::key);
  if (same == all.end())
    all.push_back(std::move(n));
  else
    same->value = std::move(n.value);
}

std::size_t memory(std::size_t changes, std::size_t bytes) {
  return changes * sizeof(change) + bytes;
}

}  // namespace

recorder::recorder(journal* log, file results, int echo_fd)
    : log_(log),
      results_(std::move(results)),
      results_size_(results_.size()),
      echo_fd_(echo_fd),
      event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd") {
  // The thread takes no signals: they are the event loop's, and SIGPIPE and SIGXFSZ become errors
  // of write(2).
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

recorder::~recorder() {
  {
    std::lock_guard const held(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  if (log_ == nullptr || failure_) return;
  try {
    log_->close();
  } catch (fatal const&) {  // the next run takes it for one that was killed
  }
}

std::uint64_t recorder::intend(std::int64_t line) {
  return add({line, line_state::intended}, {});
}

std::uint64_t recorder::clear(std::int64_t line) {
  return add({line, line_state::open}, {});
}

std::uint64_t recorder::finish(std::int64_t line, final_outcome how, std::string_view json_line) {
  return add({line, static_cast<line_state>(how)}, json_line);
}

std::uint64_t recorder::finish(std::int64_t line, final_outcome how, std::string_view json_line,
                               std::vector<kept_body> bodies) {
  return add({line, static_cast<line_state>(how)}, json_line, std::move(bodies));
}

void recorder::put(note n) {
  std::lock_guard const held(mutex_);
  keep(next_notes_, std::move(n));
}

std::uint64_t recorder::add(change what, std::string_view json_line,
                            std::vector<kept_body> bodies) {
  bool wake = false;
  std::uint64_t number = 0;
  {
    std::lock_guard const held(mutex_);
    number = ++added_;
    if (failure_) return number;
    auto const before = gathering_.all_bytes();
    gathering_.changes.push_back(what);
    if (!json_line.empty()) {
      gathering_.bytes += json_line;
      gathering_.bytes += '\n';
    }
    for (auto& body : bodies) {
      gathering_.body_bytes += body.bytes.size();
      gathering_.bodies.push_back(std::move(body));
    }
    for (auto& n : next_notes_) keep(gathering_.notes, std::move(n));
    next_notes_.clear();
    pending_ += memory(1, gathering_.all_bytes() - before);
    bool const hurry = what.to == line_state::intended || gathering_.all_bytes() >= gather_bytes;
    wake = idle_ || (hurry && !urgent_);
    idle_ = false;
    urgent_ = urgent_ || hurry;
  }
  if (wake) wake_.notify_one();
  return number;
}

void recorder::drain() {
  std::unique_lock held(mutex_);
  auto const last = added_;
  urgent_ = true;
  wake_.notify_one();
  drained_.wait(held, [&] { return failure_ || committed() >= last; });
  if (failure_) std::rethrow_exception(failure_);
  results_.require_untouched(results_size_);
}

std::exception_ptr recorder::failure() const {
  std::lock_guard const held(mutex_);
  return failure_;
}

void recorder::work() {
  group current;
  std::unique_lock held(mutex_);
  for (;;) {
    idle_ = true;
    wake_.wait(held, [&] { return stopping_ || !gathering_.changes.empty(); });
    idle_ = false;
    if (gathering_.changes.empty()) return;
    wake_.wait_for(held, gather_for, [&] { return stopping_ || urgent_; });
    std::swap(current, gathering_);
    urgent_ = false;
    auto const last = added_;

    held.unlock();
    std::exception_ptr failed;
    try {
      write(current);
    } catch (...) {
      failed = std::current_exception();
    }
    held.lock();

    if (failed)
      failure_ = failed;
    else
      committed_.store(last, std::memory_order_release);
    drained_.notify_all();
    ::eventfd_write(event_.fd(), 1);
    if (failed) return;

    if (!current.bytes.empty() && echo_fd_ >= 0) {
      held.unlock();
      echo(current.bytes);
      held.lock();
    }
    pending_ -= memory(current.changes.size(), current.all_bytes());
    current.changes.clear();
    current.bytes.clear();
    current.bodies.clear();
    current.notes.clear();
    current.body_bytes = 0;
  }
}

void recorder::write(group const& g) {
  // Else the next run would not know that the files are its own.
  if (!g.bodies.empty() && log_ && log_->behind()) log_->commit({}, results_size_);
  if (!g.bodies.empty()) write_bodies(g.bodies, log_ && log_->level() == durability::power);
  if (!g.bytes.empty()) {
    results_.append(g.bytes);
    results_size_ += static_cast<std::int64_t>(g.bytes.size());
    if (log_ && log_->level() == durability::power) results_.sync();
  }
  results_.require_untouched(results_size_);
  if (log_) log_->commit(g.changes, results_size_, g.notes);
}

void recorder::echo(std::string_view bytes) {
  if (echo_closed() || write_all(echo_fd_, bytes) == bytes.size()) return;
  echo_closed_.store(true, std::memory_order_relaxed);
  ::eventfd_write(event_.fd(), 1);
}

}  // namespace headway::app
