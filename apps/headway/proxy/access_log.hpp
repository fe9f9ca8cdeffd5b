/// The access log: one JSON line for each request that ended.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "os/file.hpp"
#include "proxy/state.hpp"

namespace headway::app::proxy {

struct log_entry {
  ended_request what;
  std::string scope{}, trace{};
  duration upstream{};  ///< from the last attempt to the head of its answer
  std::uint64_t in = 0, out = 0;
};

/// Writes in a thread of its own, so that a slow disk holds nothing up. What a disk cannot take, 8
/// MiB behind, is dropped, and that is said. Threads: write() by one.
class access_log {
 public:
  /// "-": standard output. Errors: fatal(exit_io).
  explicit access_log(std::string const& path);
  ~access_log();
  access_log(access_log const&) = delete;
  access_log& operator=(access_log const&) = delete;

  void write(log_entry const&);
  /// Goes on in the file that has this name now: the one before may have been moved away. Errors:
  /// fatal; then it goes on as before.
  void reopen(std::string const& path);

 private:
  void run();

  std::string path_;
  file file_;
  std::optional<file> next_;
  std::mutex mutex_;
  std::condition_variable filled_;
  std::string pending_;
  std::uint64_t dropped_ = 0;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace headway::app::proxy
