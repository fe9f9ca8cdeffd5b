/// Headers whose values are printed by commands, since they expire.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headway/time.hpp"
#include "os/poller.hpp"
#include "os/process.hpp"

namespace headway::app {

/// The --header-cmd options, each `Name: before $(COMMAND) after`: what COMMAND prints, one line,
/// stands where it is. All run together, in a round, while other work goes on: by /bin/sh, without
/// input and terminal, what they say on standard error is dropped. A round starts when the values
/// are `ttl` old and after refuse(); one that failed is tried again, after 1 s, 2 s … 1 min.
///
/// Values are in memory only, never in a message. Threads: one.
class header_commands {
 public:
  /// Errors: fatal(exit_usage) that names the option. Runs nothing yet.
  header_commands(poller&, std::span<std::string const> options, std::optional<duration> ttl);
  header_commands(header_commands const&) = delete;
  header_commands& operator=(header_commands const&) = delete;

  bool empty() const noexcept { return all_.empty(); }

  /// A line for each, with the header's name, to be filled() before it is sent. No header that
  /// anybody may give looks like one.
  std::vector<std::string> stand_ins() const { return stand_ins(all_); }
  /// Returns those of `options`, of which nothing runs. Errors: as of the constructor.
  static std::vector<std::string> stand_ins_of(std::span<std::string const> options) {
    return stand_ins(parsed(options));
  }

  /// Whether one of `lines` is a stand-in.
  static bool needed_by(std::span<std::string const> lines) noexcept;

  /// `lines` with the current values in the place of stand-ins.
  std::vector<std::string> filled(std::span<std::string const> lines) const;

  /// Of the current values, rising; 0: there are none yet.
  std::uint64_t generation() const noexcept { return generation_; }

  /// A server refused the values of `generation`: new ones are wanted, unless they are newer now.
  void refuse(std::uint64_t generation) noexcept;

  /// The current values have been refused, and there are no new ones yet.
  bool refused() const noexcept { return refused_; }

  /// Rounds that failed since the last that did not, and why the last one did.
  int failures() const noexcept { return failures_; }
  std::string const& problem() const noexcept { return problem_; }

  /// `fd` of the poller is ready. False when it is none of ours.
  bool ready(poller::event const&);

  /// Does what is due; to be called once after every wait. True once there are new values.
  bool flush(time_point now);

  /// A round has begun, and has not come to its end.
  bool running() const noexcept;

  /// When flush() must be called at the latest.
  time_point wakeup() const noexcept { return running() ? until_ : due_; }

 private:
  struct one {
    std::string name, before, command, after;
    std::string value{};               // "": none yet
    std::unique_ptr<process> child{};  // while it runs
    std::string said{};
  };

  static std::vector<one> parsed(std::span<std::string const> options);
  static std::vector<std::string> stand_ins(std::span<one const>);

  void start(one&);
  void listen(one&);
  void reap(one&);
  void fail(one const&, std::string_view why);
  void conclude(time_point now);

  poller& events_;
  std::optional<duration> ttl_;
  std::vector<one> all_;
  bool failed_ = false;  // this round
  time_point began_ = time_point::min(), until_ = never;
  time_point due_ = time_point::min();
  std::uint64_t generation_ = 0, told_ = 0;
  bool refused_ = false;
  int failures_ = 0;
  std::string problem_;
};

}  // namespace headway::app
