/// The trace: every call into the governors with its arguments, so that a run's decisions can be
/// made again.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "headway/governor.hpp"

namespace headway::app {

/// One JSON object a line: first the run's settings, then `scope`, then calls in order. Times are
/// nanoseconds since the run began; a ticket is the number that submit returned. Nothing that a
/// request carries is written. Errors: fatal(exit_io).
class trace {
 public:
  explicit trace(std::string const& path);
  ~trace();
  trace(trace const&) = delete;
  trace& operator=(trace const&) = delete;

  void settings(std::string_view law, governor_settings const&, time_point now);
  void scope(int scope, std::string_view name);
  void submit(int scope, time_point now, request_terms const&, ticket);
  void start(int scope, time_point now, ticket, fraction u);
  void finish(int scope, time_point now, ticket, attempt_result const&, fraction u);
  void cancel(int scope, time_point now, ticket);

 private:
  void write(std::string_view line);
  std::int64_t since(time_point now) const noexcept { return (now - began_).count(); }

  struct closer {
    void operator()(std::FILE* f) const noexcept { std::fclose(f); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, closer> file_;
  time_point began_{};
};

}  // namespace headway::app
