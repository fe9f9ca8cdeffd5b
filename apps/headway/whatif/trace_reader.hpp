/// A trace, read line by line.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "headway/headway.hpp"
#include "pacing/trace.hpp"

namespace simdjson::dom {
class parser;
}

namespace headway::app {

/// One line of a trace. What the governor answered is not taken apart: see trace_reader::text().
struct traced_call {
  enum class kind : std::uint8_t {
    scope,
    submit,
    start,
    learn,
    finish,
    cancel,
    wakeup,
    look,
    claim,
    limit,
    leave,
    end,
    ctl,   ///< what a user changed; of no scope
    cost,  ///< what an answer says that its request has cost
    held,  ///< what holds the next request back, where the governor does not
  };
  /// Whether the governor was called: there is something to decide.
  bool decides() const noexcept { return what < kind::ctl; }

  kind what = kind::scope;
  int scope = 0;
  time_point at{};
  ticket id{};
  fraction u = 0;
  std::optional<time_point> quota_until{};  ///< of start, where a quota held it
  request_terms terms{};                    ///< of submit
  attempt_result result{};                  ///< of learn and finish
  bool ended = false;  ///< submit: it was refused; finish: the request has come to its end
  std::string name{};  ///< of scope; the quota, of cost
  std::optional<remembered> memory{};  ///< of scope
  int seat = -1;                       ///< of scope and leave: of a shared pace, where there is one
  std::string page{};                  ///< what the page of that answered during the call
  bool held_elsewhere = false;         ///< of look
  std::optional<gcra> rate{};          ///< of limit
  int in_flight_max = 0;               ///< of limit
  double share = 0;                    ///< of leave
  reason why = reason::none;           ///< of wakeup and held: what holds the next request back
  std::string words{};                 ///< of ctl
  double expected = 0, told = 0;       ///< of cost
  std::optional<learned> belief{};     ///< of the law after the call, where that is another
};

/// Memory does not grow with the trace. Errors: fatal(exit_usage) that names file:line.
class trace_reader {
 public:
  explicit trace_reader(std::string path);
  ~trace_reader();
  trace_reader(trace_reader const&) = delete;
  trace_reader& operator=(trace_reader const&) = delete;

  trace_head const& head() const noexcept { return head_; }

  /// The next call; nullopt at the end. A scope's first line is kind::scope, and none follows
  /// kind::end.
  std::optional<traced_call> next();

  /// The line read last, without its line feed, and its number.
  std::string_view text() const noexcept { return {buffer_.data(), size_}; }
  std::int64_t line() const noexcept { return line_; }

 private:
  class object;

  bool read_line();
  object parse();
  void read_head();
  double share_of(object const&, char const* key) const;
  std::optional<gcra> rate_ceiling_of(object const&) const;
  [[noreturn]] void fail(std::string_view what) const;

  std::string path_;
  std::ifstream in_;
  std::string buffer_;
  std::size_t size_ = 0;
  std::int64_t line_ = 0;
  std::unique_ptr<simdjson::dom::parser> json_;
  std::unordered_set<int> open_;  // scopes
  trace_head head_;
};

}  // namespace headway::app
