/// Where figures for monitoring go.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "os/poller.hpp"
#include "watch/http_page.hpp"
#include "watch/listener.hpp"

namespace headway::app {

/// A file that is replaced every 15 s and at the end, for a collector of text files, or an address
/// that answers GET /metrics. Threads: one.
class metrics_outlet {
 public:
  /// "FILE.prom" or "HOST:PORT". Errors: fatal, a line that names --metrics.
  metrics_outlet(poller&, std::string const& where, std::function<std::string()> page,
                 time_point now);

  bool ready(time_point now, poller::event const& e) {
    now_ = now;
    return service_ && service_->ready(now, e);
  }
  time_point wakeup() const noexcept;
  /// Does what is due. Errors: fatal(exit_io).
  void tick(time_point now);

  /// The figures are final: writes the file, or begins to wait for one fetch more.
  void conclude(time_point now);
  /// Until when to wait for that, a little longer than two fetches were apart lately; in the past
  /// where none is expected.
  time_point open_until() const noexcept { return open_until_; }

 private:
  std::string fetched();
  void write() const;

  std::string path_;  // "": an address
  std::function<std::string()> page_;
  time_point next_ = never;
  std::optional<http_page> served_;
  std::optional<listener> service_;
  time_point now_{};      // at the last event
  time_point fetched_{};  // last
  duration apart_{0};     // two of them, the longest of late: after a late one the next seems early
  bool final_ = false;
  time_point open_until_ = time_point::min();
};

}  // namespace headway::app
