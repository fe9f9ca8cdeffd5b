/// The trace: every call into the governors, with its arguments and its answer, so that a run's
/// decisions can be made again (`headway replay`).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "headway/headway.hpp"
#include "headway/shared/pace.hpp"
#include "os/file.hpp"
#include "pacing/memory.hpp"

namespace headway::app {

inline constexpr int trace_format = 1;

using scope_governor = governor<any_backoff, shared_law>;

inline constexpr std::array<std::string_view, 4> outcome_names = {"success", "throttle", "failure",
                                                                  "ignore"};
inline constexpr std::array<std::string_view, 4> resource_names = {"unknown", "rate", "concurrency",
                                                                   "quota"};
inline constexpr std::array<std::string_view, 4> verdict_names = {"done", "retry", "give_up",
                                                                  "park"};
inline constexpr std::array<std::string_view, 3> after_throttle_names = {"stand_in_line",
                                                                         "back_off", "share_level"};

/// What all governors of a run were made from.
struct trace_head {
  std::string version = HEADWAY_VERSION;
  shipped_law law;
  governor_settings settings;
  time_point began{};  ///< laws may read absolute time, so that a replay must have it
};

/// One JSON object a line: first the head, then the calls in order. Instants are nanoseconds since
/// the run began, `null` is never; a state is its fields in order. Nothing that a request carries
/// is written.
///
/// Lines go to the file some at a time, never in part. Errors: fatal(exit_io).
class trace {
 public:
  /// Keeps its lines.
  trace() = default;
  /// Writes them; what is there is replaced.
  explicit trace(std::string const& path);
  ~trace();
  trace(trace const&) = delete;
  trace& operator=(trace const&) = delete;

  void head(trace_head const&);
  void scope(int scope, std::string_view name, std::optional<remembered> const& = {});
  void submit(int scope, time_point now, request_terms const&, std::variant<ticket, refused>);
  void start(int scope, time_point now, ticket, fraction u,
             std::optional<time_point> quota_until = {});
  void finish(int scope, time_point now, ticket, attempt_result const&, fraction u,
              decision const&);
  void cancel(int scope, time_point now, ticket);
  void wakeup(int scope, time_point now, time_point at, reason);
  void end(int scope, time_point now, scope_governor const&);

  void flush();

  /// What has not been written, each line with its line feed.
  std::string_view lines() const noexcept { return lines_; }
  void clear() noexcept { lines_.clear(); }

 private:
  void open_line(std::string_view call, int scope, time_point now);
  void field(std::string_view name, time_point);
  void close_line();

  std::optional<file> file_;
  std::string lines_;
  time_point began_{};
};

/// A governor whose calls go to a trace, where there is one. Ends with its state.
class traced_governor : private scope_governor {
 public:
  traced_governor(trace* to, int scope, std::string_view name, shipped_law const&,
                  governor_settings const&, std::optional<remembered> const& = {},
                  std::shared_ptr<pace> shared = {});
  traced_governor(traced_governor&&) noexcept;
  traced_governor& operator=(traced_governor&&) = delete;
  ~traced_governor();

  std::variant<ticket, refused> submit(time_point now, request_terms const&);
  /// `quota_until`: when the quotas let it go, where they held it.
  void start(time_point now, ticket, fraction u, std::optional<time_point> quota_until = {});
  decision finish(time_point now, ticket, attempt_result const&, fraction u);
  void cancel(time_point now, ticket);
  time_point wakeup(time_point now);

  any_law const& law_state() const noexcept { return scope_governor::law_state().now_known(); }

  /// Writes the state; later calls are not traced.
  void end();

  using scope_governor::busy_until;
  using scope_governor::held_until;
  using scope_governor::hold;
  using scope_governor::in_flight;
  using scope_governor::next;
  using scope_governor::parked;
  using scope_governor::waiting;
  using scope_governor::why;

 private:
  trace* trace_;
  int scope_;
  time_point last_{};  // call
};

}  // namespace headway::app
