/// A profile of commands: how a program says "slow down" when it ends, as data.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "provider/judgement.hpp"

namespace headway::app {

/// What is known of a command that has ended. Of its outputs the last 64 KiB are looked at.
struct command_answer {
  static constexpr std::size_t looked_at = std::size_t{64} << 10;

  int exit = 0;    ///< 128 and the signal, where one ended it
  int signal = 0;  ///< that one
  std::string_view output{};
  std::string_view error{};
  std::string_view hints{};  ///< what it wrote to HEADWAY_FD
};

/// What the user says about throttles, beside the profile.
struct throttle_options {
  std::vector<int> exits{};  ///< beside 75
  std::string text{};        ///< a regular expression for a line of either output; "": none
  bool anyway = false;       ///< a text throttles though the exit is 0
};

/// Rules that are tried in their order. A file is TOML; profiles/README.md says how to write one.
/// Errors: fatal(exit_usage) that names file, line and what is allowed. Threads: const members
/// safe.
class command_profile {
 public:
  /// One that ships, or the file of that name where there is a slash or a dot in it.
  static command_profile named(std::string const&);
  /// The one that knows this program, by its base name, else "generic".
  static command_profile of_program(std::string_view base_name);
  static command_profile parse(std::string_view toml, std::string const& file);
  static std::vector<std::string> names();

  std::string const& name() const noexcept;
  /// No program of it calls a server: the machine is the limit.
  bool local() const noexcept;
  /// NAME=VALUE, for the command unless the user has set NAME.
  std::vector<std::pair<std::string, std::string>> const& environment() const noexcept;
  /// Variables of the environment that tell its limits apart.
  std::vector<std::string> const& scope() const noexcept;
  /// Whether it may run twice, by its words as far as they are the same for all jobs.
  bool safe(std::string_view words) const;

  /// What to make of an answer. Never throws, whatever the command printed. `served` where it
  /// succeeded, `permanent` where it failed for no known reason. Requires: a `text` that is valid.
  judgement judge(command_answer const&, throttle_options const&,
                  std::chrono::sys_seconds now) const;

  /// Throws std::invalid_argument unless `text` is a regular expression.
  static void check(std::string_view text);

 private:
  struct rules;
  explicit command_profile(std::shared_ptr<rules const>);
  std::shared_ptr<rules const> rules_;
};

}  // namespace headway::app
