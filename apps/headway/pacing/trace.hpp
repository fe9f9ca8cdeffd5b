/// The trace: every call into the governors, with its arguments and its answer, so that a run's
/// decisions can be made again (`headway replay`).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "headway/fleet/place.hpp"
#include "headway/headway.hpp"
#include "headway/shared/pace.hpp"
#include "os/file.hpp"
#include "pacing/memory.hpp"
#include "pacing/page_tape.hpp"

namespace headway::app {

inline constexpr int trace_format = 2;  // 1 has no heads of answers, shared pace or belief

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
  int format = trace_format;
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
  /// A scope begins. `seat`: its own of a shared pace, −1: it paces alone.
  void scope(int scope, std::string_view name, std::optional<remembered> const& = {},
             int seat = -1);
  /// The answers of the page of a shared pace are in the line of the call that they were made for.
  void heard(std::string page_answers) { page_answers_ = std::move(page_answers); }
  /// What the law believes is in the line of the call after which it does.
  void believes(std::string belief) {
    if (format_ >= 2) belief_ = std::move(belief);
  }
  void submit(int scope, time_point now, request_terms const&, std::variant<ticket, refused>);
  void start(int scope, time_point now, ticket, fraction u,
             std::optional<time_point> quota_until = {});
  void learn(int scope, time_point now, ticket, attempt_result const&, fraction u, bool taught);
  /// Of a law with a congestion window, that and its ssthresh are told, too.
  void finish(int scope, time_point now, ticket, attempt_result const&, fraction u, decision const&,
              any_law const&);
  void cancel(int scope, time_point now, ticket);
  void wakeup(int scope, time_point now, time_point at, reason);
  void look(int scope, time_point now, bool held_elsewhere);
  void claim(int scope, time_point now, std::int64_t cost, fraction u, bool taken);
  void limit(int scope, time_point now, std::optional<gcra> const& rate, int in_flight_max);
  void leave(int scope, time_point now, double share, int seat);
  void end(int scope, time_point now, scope_governor const&);
  /// What a user changed, in words.
  void ctl(time_point now, std::string_view words);
  /// What an answer says that its request has cost of a quota, beside what had been expected.
  void cost(int scope, time_point now, std::string_view quota, double expected, double told);
  /// What holds the next request back, where the governor does not.
  void held(int scope, time_point now, reason);

  void flush();

  /// What has not been written, each line with its line feed.
  std::string_view lines() const noexcept { return lines_; }
  void clear() noexcept { lines_.clear(); }

 private:
  void open_line(std::string_view call, int scope, time_point now);
  void field(std::string_view name, time_point);
  void result(ticket, attempt_result const&);
  void close_line();

  std::optional<file> file_;
  std::string lines_;
  time_point began_{};
  int format_ = trace_format;
  std::string page_answers_, belief_;
};

/// A pace that a governor shares, and the tape of what its page answers, where that is traced.
struct shared_pace {
  std::shared_ptr<pace> with{};  ///< null: it paces alone
  int seat = -1;
  std::shared_ptr<page_tape> tape{};
  std::shared_ptr<fleet::hosted_pace> hosted{};  ///< the same, where hosts share it
  int in_flight_most = 0;                        ///< of a host whose user sets no ceiling
};

/// Returns the ceilings of a user as a fleet knows them. `in_flight_most`: none of permits.
fleet::ceilings ceilings_of(governor_settings const&, int in_flight_most);

/// A governor whose calls go to a trace, where there is one. Ends with its state.
class traced_governor : private scope_governor {
 public:
  traced_governor(trace* to, int scope, std::string_view name, shipped_law const&,
                  governor_settings const&, std::optional<remembered> const& = {},
                  shared_pace = {});
  traced_governor(traced_governor&&) noexcept;
  traced_governor& operator=(traced_governor&&) = delete;
  ~traced_governor();

  std::variant<ticket, refused> submit(time_point now, request_terms const&);
  /// `quota_until`: when the quotas let it go, where they held it.
  void start(time_point now, ticket, fraction u, std::optional<time_point> quota_until = {});
  bool learn(time_point now, ticket, attempt_result const& head, fraction u);
  decision finish(time_point now, ticket, attempt_result const&, fraction u);
  void cancel(time_point now, ticket);
  time_point wakeup(time_point now);

  /// Looks at what others did, where the pace is shared.
  void look(time_point now, bool held_elsewhere);
  /// Takes the turn; false where another was faster.
  bool claim(time_point now, std::int64_t cost, fraction u);
  /// When to look again; `never` where it paces alone.
  time_point look_again(time_point now) const;
  /// Of its page; null: it paces alone, or is not traced.
  page_tape* tape() const noexcept { return shared_.tape.get(); }
  /// Other processes that share its pace.
  int company() const { return shared_.with ? shared_.with->company() : 0; }
  /// Whether other hosts share its pace.
  bool hosted() const noexcept { return shared_.hosted != nullptr; }
  /// What it knows of the hosts that share its pace; nothing where none do.
  std::optional<fleet::standing> hosts() const {
    return shared_.hosted ? std::optional(shared_.hosted->look()) : std::nullopt;
  }
  /// Its user's settings. The ceilings are those of all hosts that share its pace.
  governor_settings const& settings() const noexcept {
    return shared_.hosted ? said_ : scope_governor::settings();
  }

  /// Its user's ceilings from now on. What was sent beyond the old rate counts against the new one,
  /// so that no change gives a burst away.
  void limit(time_point now, std::optional<gcra> const& rate, int in_flight_max);
  /// It leaves that share of the limit from now on, and shares this pace. Requires: a law that can.
  void leave(time_point now, double share, shared_pace);

  any_law const& law_state() const noexcept { return scope_governor::law_state().now_known(); }

  /// Notes a cost: it is in the trace, and nothing is decided.
  void cost(time_point now, std::string_view quota, double expected, double told) {
    if (trace_) trace_->cost(scope_, now, quota, expected, told);
  }
  /// Notes, likewise, what else than this holds the next request back, where that is news.
  void held(time_point now, reason why) {
    if (std::exchange(noted_, why) != why && trace_) trace_->held(scope_, now, why);
  }
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
  void add_what_was_heard();

  trace* trace_;
  int scope_;
  shared_pace shared_;
  governor_settings said_;  // where hosts share its pace
  std::string believed_;
  reason noted_ = reason::none;  // why it is held
  time_point last_{};            // call
};

}  // namespace headway::app
