#include "journal/recorder.hpp"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "base/clock.hpp"
#include "base/fatal.hpp"

namespace headway::app {
namespace {

// A group that no request waits for (it holds no intent) gathers so long, or until it is so big. A
// commit costs some 100 us of CPU whatever is in it; what a crash can undo in that time are answers
// to requests that may be sent again.
constexpr std::chrono::milliseconds gather_for{25};
constexpr std::size_t gather_bytes = 256 * 1024;

constexpr std::chrono::seconds end_patience{3};

void keep(std::vector<note>& all, note n) {
  auto const same = std::ranges::find(all, n.key, &note::key);
  if (same == all.end())
    all.push_back(std::move(n));
  else
    same->value = std::move(n.value);
}

}  // namespace

recorder::recorder(journal* log, file results, int echo_fd)
    : recorder(std::make_unique<file_ledger>(log, std::move(results)), echo_fd) {}

recorder::recorder(std::unique_ptr<ledger> to, int echo_fd)
    : ledger_(std::move(to)),
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
  close();
}

void recorder::close() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard const held(mutex_);
    stopping_ = true;
  }
  ledger_->leave(end_patience);
  wake_.notify_one();
  thread_.join();
  if (failure_) return;
  try {
    ledger_->close();
  } catch (std::exception const&) {  // the next run takes it for one that was killed
  }
}

std::uint64_t recorder::intend(std::int64_t line) {
  return add(line, line_state::intended);
}

std::uint64_t recorder::clear(std::int64_t line) {
  return add(line, line_state::open);
}

std::uint64_t recorder::finish(std::int64_t line, final_outcome how, std::string_view json_line) {
  return add(line, static_cast<line_state>(how), json_line);
}

std::uint64_t recorder::finish(std::int64_t line, final_outcome how, std::string_view json_line,
                               std::vector<kept_body> bodies) {
  return add(line, static_cast<line_state>(how), json_line, std::move(bodies));
}

void recorder::put(note n) {
  std::lock_guard const held(mutex_);
  keep(next_notes_, std::move(n));
}

std::uint64_t recorder::add(std::int64_t line, line_state to, std::string_view json_line,
                            std::vector<kept_body> bodies) {
  bool wake = false;
  std::uint64_t number = 0;
  {
    std::lock_guard const held(mutex_);
    number = ++added_;
    if (failure_) return number;
    auto bytes = json_line.empty() ? 0 : json_line.size() + 1;
    if (!json_line.empty()) (gathering_.results += json_line) += '\n';
    for (auto const& body : bodies) bytes += body.bytes.size();
    gathering_.changes.push_back({line, to});
    for (auto& body : bodies) gathering_.bodies.push_back(std::move(body));
    for (auto& n : next_notes_) keep(gathering_.notes, std::move(n));
    next_notes_.clear();
    gathered_ += bytes;
    pending_ += sizeof(change) + bytes;
    bool const hurry = to == line_state::intended || gathered_ >= gather_bytes;
    wake = idle_ || (hurry && !urgent_);
    idle_ = false;
    urgent_ = urgent_ || hurry;
  }
  if (wake) wake_.notify_one();
  return number;
}

void recorder::drain() {
  std::unique_lock held(mutex_);
  urgent_ = true;
  wake_.notify_one();
  drained_.wait(held, [&] { return failure_ || pending_bytes() == 0; });
  if (failure_) std::rethrow_exception(failure_);
  ledger_->require_untouched();
}

std::exception_ptr recorder::failure() const {
  std::lock_guard const held(mutex_);
  return failure_;
}

void recorder::leave(duration patience) {
  ledger_->leave(patience);
}

void recorder::poke() {
  {
    std::lock_guard const held(mutex_);
    poked_ = true;
  }
  wake_.notify_one();
}

/// Without the lock. False where it threw: nothing more is to be written.
bool recorder::attempt(std::unique_lock<std::mutex>& held, std::function<void()> const& act) {
  held.unlock();
  std::exception_ptr failed;
  try {
    act();
  } catch (...) {
    failed = std::current_exception();
  }
  held.lock();
  if (!failed) return true;
  failure_ = failed;
  drained_.notify_all();
  ::eventfd_write(event_.fd(), 1);
  return false;
}

void recorder::work() {
  change_group current;
  std::unique_lock held(mutex_);
  for (;;) {
    idle_ = true;
    auto const called = [&] { return stopping_ || poked_ || !gathering_.changes.empty(); };
    if (auto const due = ledger_->due(); due == never)
      wake_.wait(held, called);
    else
      wake_.wait_until(held, std::chrono::steady_clock::time_point(due.time_since_epoch()), called);
    idle_ = poked_ = false;
    auto const idle = gathering_.changes.empty();
    if (!stopping_ && ledger_->due() <= clock_now()) {
      if (!attempt(held, [&] { ledger_->tend(idle); })) return;
      ::eventfd_write(event_.fd(), 1);
    }
    if (gathering_.changes.empty()) {
      if (stopping_) return;
      continue;
    }
    wake_.wait_for(held, gather_for, [&] { return stopping_ || urgent_; });
    std::swap(current, gathering_);
    auto const held_bytes = current.changes.size() * sizeof(change) + std::exchange(gathered_, 0);
    urgent_ = false;
    auto const last = added_;

    if (!attempt(held, [&] { ledger_->commit(current); })) return;
    committed_.store(last, std::memory_order_release);
    ::eventfd_write(event_.fd(), 1);

    if (!current.results.empty() && echo_fd_ >= 0) {
      held.unlock();
      echo(current.results);
      held.lock();
    }
    pending_ -= held_bytes;
    drained_.notify_all();
    current.changes.clear();
    current.results.clear();
    current.bodies.clear();
    current.notes.clear();
  }
}

void recorder::echo(std::string_view bytes) {
  if (echo_failure() != 0 || write_all(echo_fd_, bytes) == bytes.size()) return;
  echo_failure_.store(errno, std::memory_order_relaxed);
  ::eventfd_write(event_.fd(), 1);
}

}  // namespace headway::app
