/// A recipe: what makes a command of the values of a job.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/argv_template.hpp"
#include "exec/input.hpp"
#include "exec/options.hpp"

namespace headway::app {

/// Returns FILE of NAME=@FILE, "" where the value itself stands there.
std::string_view value_file(std::string_view pair);

/// All templates of a run. Errors: fatal(exit_usage) for a template that makes no sense, and for a
/// program that is not there. Threads: one.
class recipe {
 public:
  /// `options` must live as long.
  explicit recipe(exec_options const& options);

  /// Its path; "": each job has its own.
  std::string const& program() const noexcept { return program_; }
  /// The program that a profile is for, behind wrappers; "": each job has its own.
  std::string const& own_name() const noexcept { return own_name_; }
  /// The wrapper that starts it; "": none, or the limit has its name by --name.
  std::string const& started_by() const noexcept { return started_by_; }
  /// The words that a profile sees: those that are the same for each job.
  std::string const& words_for_profile() const noexcept { return words_for_profile_; }
  /// The fields that all templates want.
  std::vector<std::string> const& names() const noexcept { return names_; }
  /// The templates, and what else makes jobs of lines.
  std::string shape() const;

  /// Of a job in a slot.
  std::vector<std::string> arguments(exec_item const&, int slot) const;
  /// Its own variables, NAME=VALUE.
  std::vector<std::string> environment(exec_item const&, int slot) const;
  /// Its input; nullopt: it has none.
  std::optional<std::string> input(exec_item const&, int slot) const;
  /// Returns in words why the command may take a value for an option of its own; nullopt: it does
  /// not.
  std::optional<std::string> mistakable(exec_item const&) const;
  /// Its scope; nullopt: that of all.
  std::optional<std::string> scope(exec_item const&) const;

 private:
  bool goes_elsewhere() const;
  void name_program();
  std::string resolved() const;
  std::vector<std::string> named_for(argv_template const&, exec_item const&) const;
  template <class F>
  auto with_values(argv_template const&, exec_item const&, int slot, F) const;
  std::string text(argv_template const&, exec_item const&, int slot) const;

  exec_options const& options_;
  std::vector<std::pair<std::string, argv_template>> environment_;
  std::optional<argv_template> stdin_, scope_;
  argv_template command_;  // after those: where the value goes elsewhere, it has it not
  std::string own_name_{}, started_by_{}, words_for_profile_{}, program_;
  std::vector<std::string> fixed_environment_{};
  std::vector<std::string> names_{};
};

}  // namespace headway::app
