#include "proxy/access_log.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/fatal.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "base/words.hpp"

namespace headway::app::proxy {
namespace {

constexpr std::size_t pending_max = std::size_t{8} << 20;

std::string line_of(log_entry const& e) {
  auto const& w = e.what;
  auto const ms = [](duration d) { return to_seconds(d) * 1e3; };
  auto const since = w.at.time_since_epoch();
  auto const millis = std::chrono::duration_cast<std::chrono::milliseconds>(since).count() % 1000;
  std::string line = fmt::format(R"({{"at":"{:%FT%T}.{:03}Z")",
                                 fmt::gmtime(std::chrono::system_clock::to_time_t(w.at)), millis);
  auto const text = [&](std::string_view key, std::string_view value) {
    line += fmt::format(R"(,"{}":)", key);
    append_quoted(line, in_utf8(value));
  };
  text("id", w.id);
  text("client", w.client);
  text("upstream", w.upstream);
  text("scope", e.scope);
  text("method", w.method);
  text("path", w.path);
  line += fmt::format(R"(,"status":{})", w.status);
  text("ended", w.ended);
  if (!w.reason.empty()) text("reason", w.reason);
  line += fmt::format(
      R"(,"waited_ms":{:.3f},"attempts":{},"throttled":{},"upstream_ms":{:.3f},"took_ms":{:.3f},)"
      R"("in":{},"out":{})",
      ms(w.waited), w.attempts, w.throttled, ms(e.upstream), ms(w.took), e.in, e.out);
  if (!e.trace.empty()) text("trace", e.trace);
  return line += "}\n";
}

file opened(std::string const& path) {
  if (path == "-") return {fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), "standard output"};
  return file::open(path, O_WRONLY | O_CREAT | O_APPEND);
}

}  // namespace

access_log::access_log(std::string const& path)
    : path_(path), file_(opened(path)), thread_([this] { run(); }) {}

void access_log::reopen(std::string const& path) {
  struct stat status {};
  auto const stream = path == "-" || (stat(path.c_str(), &status) == 0 &&
                                      (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)));
  if (stream && path == path_) return;
  if (stream && path != "-")  // opening it could take for ever
    throw fatal(exit_usage, fmt::format("--access-log {}: want a regular file", in_quotes(path)));
  auto fresh = opened(path);
  std::lock_guard const lock(mutex_);
  next_ = std::move(fresh);
  path_ = path;
}

access_log::~access_log() {
  {
    std::lock_guard const lock(mutex_);
    ends_ = true;
  }
  filled_.notify_one();
  thread_.join();
}

void access_log::write(log_entry const& e) {
  auto const line = line_of(e);
  {
    std::lock_guard const lock(mutex_);
    if (pending_.size() + line.size() > pending_max) {
      ++dropped_;
      return;
    }
    pending_ += line;
  }
  filled_.notify_one();
}

void access_log::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    filled_.wait(lock, [this] { return !pending_.empty() || ends_; });
    if (pending_.empty()) return;
    auto const lines = std::exchange(pending_, {});
    auto const dropped = std::exchange(dropped_, 0);
    if (next_) file_ = *std::exchange(next_, std::nullopt);
    lock.unlock();
    try {
      file_.append(lines);
      if (dropped > 0) say(fmt::format("access log: {} lines dropped: it is too slow", dropped));
    } catch (fatal const& e) {
      say(fmt::format("access log: {}", e.what()));
    }
    lock.lock();
  }
}

}  // namespace headway::app::proxy
