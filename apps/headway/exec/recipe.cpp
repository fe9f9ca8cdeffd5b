#include "exec/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "exec/program.hpp"
#include "exec/wrapper.hpp"

namespace headway::app {
namespace {

constexpr std::size_t value_bytes_max = 128 * 1024 - 1;  // as execve(2) takes

argv_template template_of(std::string const& text) {
  return argv_template({text}, argv_template::style::text);
}

std::optional<argv_template> of_field(std::string const& text) {
  return text.empty() ? std::nullopt : std::optional(template_of(text));
}

/// The variables whose values are templates.
std::vector<std::pair<std::string, argv_template>> of_environment(exec_options const& o) {
  std::vector<std::pair<std::string, argv_template>> all;
  for (auto const& pair : o.environment)
    if (auto const equals = pair.find('='); value_file(pair).empty())
      all.emplace_back(pair.substr(0, equals), template_of(pair.substr(equals + 1)));
  return all;
}

/// A value from a file, without the line feed at its end.
std::string text_of(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(value_bytes_max + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.eof() && !in.good())
    throw fatal(exit_usage, fmt::format("--env: cannot read {}", in_quotes(path)));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.ends_with('\n')) text.pop_back();
  if (text.size() > value_bytes_max || text.find('\0') != text.npos)
    throw fatal(exit_usage, fmt::format("--env: {} is no value: want at most {} bytes, none zero",
                                        in_quotes(path), value_bytes_max));
  return text;
}

}  // namespace

std::string_view value_file(std::string_view pair) {
  auto const value = pair.substr(pair.find('=') + 1);
  return value.starts_with('@') ? value.substr(1) : std::string_view();
}

recipe::recipe(exec_options const& options)
    : options_(options),
      environment_(of_environment(options)),
      stdin_(of_field(options.stdin_field)),
      scope_(of_field(options.scope)),
      command_(options.command,
               options.shell ? argv_template::style::shell : argv_template::style::words,
               !goes_elsewhere()),
      program_(resolved()) {
  if (command_.fixed_program()) name_program();
  if (!options.name.empty()) started_by_.clear();
  for (auto const& pair : options.environment)
    if (auto const path = value_file(pair); !path.empty())
      fixed_environment_.push_back(pair.substr(0, pair.find('=') + 1) + text_of(std::string(path)));
  auto const add = [this](argv_template const& t) {
    for (auto const& name : t.names())
      if (std::ranges::find(names_, name) == names_.end()) names_.push_back(name);
  };
  add(command_);
  for (auto const& [name, value] : environment_) add(value);
  if (stdin_) add(*stdin_);
  if (scope_) add(*scope_);
}

/// The limit is that of the program which does the work, and so is the profile.
void recipe::name_program() {
  auto const& words = options_.command;
  auto const found = options_.shell ? called{.text = true} : called_by(words);
  own_name_ = base_name(options_.shell ? "sh" : words.front());
  if (found.text) {
    if (auto inner = program_of_script(words[found.at]); !inner.empty())
      started_by_ = std::exchange(own_name_, std::move(inner));
    return;
  }
  auto const at = command_.fixed(found.at) ? found.at : 0;
  if (at > 0) started_by_ = std::exchange(own_name_, base_name(words[at]));
  words_for_profile_ = own_name_;
  for (auto i = at + 1; i < words.size(); ++i) words_for_profile_ += ' ' + words[i];
}

/// A value that goes to the environment or the input is perhaps a secret: the command's words,
/// which all processes see, have it only where they say so.
bool recipe::goes_elsewhere() const {
  return (stdin_ && stdin_->puts_value()) ||
         std::ranges::any_of(environment_, [](auto const& v) { return v.second.puts_value(); });
}

/// Nothing is started where the program is not there.
std::string recipe::resolved() const {
  if (options_.command.empty() || options_.command.front().empty())
    throw fatal(exit_usage, "there is no command; want headway exec [OPTIONS] [JOBS] -- COMMAND");
  for (auto const& word : options_.command)
    if (auto const at = word.find("{="); at != word.npos && word.find("=}", at) != word.npos)
      throw fatal(exit_usage, in_quotes(word) +
                                  ": {= =} is GNU parallel's; want {.} {/} {//} {/.} {1}, or "
                                  "--shell");
  if (options_.shell) return "/bin/sh";
  auto const& first = options_.command.front();
  if (auto const space = first.find_first_of(" \t\n");
      space != first.npos && first.find('/') > space)
    throw fatal(exit_usage, in_quotes(first) +
                                " is one word; want --shell for a script, or its "
                                "words without quotes");
  if (!command_.fixed_program()) return "";
  auto const& name = options_.command.front();
  auto found = found_program(name);
  if (found.empty())
    throw fatal(exit_usage, fmt::format("{}: {}", in_quotes(name), why_not_found(name)));
  return found;
}

std::string recipe::shape() const {
  std::string text = options_.shell ? "shell" : "exec";
  auto const add = [&](std::string_view part) { text += fmt::format(" {} {}", part.size(), part); };
  for (auto const& word : options_.command) add(word);
  for (auto const& pair : options_.environment) add(pair);
  add(options_.stdin_field);
  add(options_.input.separator);
  add(options_.input.end == '\0' ? "0" : "");
  return text;
}

/// The fields of a template, of those of the item.
std::vector<std::string> recipe::named_for(argv_template const& t, exec_item const& item) const {
  std::vector<std::string> values;
  for (auto const& name : t.names())
    values.push_back(
        item.named[static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin())]);
  return values;
}

template <class F>
auto recipe::with_values(argv_template const& t, exec_item const& item, int slot, F f) const {
  auto const named = named_for(t, item);
  return f({.columns = item.columns, .named = named, .number = item.number, .slot = slot});
}

std::string recipe::text(argv_template const& t, exec_item const& item, int slot) const {
  return with_values(t, item, slot, [&](job_values const& v) { return t.text(v); });
}

std::vector<std::string> recipe::arguments(exec_item const& item, int slot) const {
  return with_values(command_, item, slot, [&](job_values const& v) { return command_.filled(v); });
}

std::vector<std::string> recipe::environment(exec_item const& item, int slot) const {
  auto all = fixed_environment_;
  for (auto const& [name, value] : environment_)
    all.push_back(name + "=" + text(value, item, slot));
  return all;
}

std::optional<std::string> recipe::input(exec_item const& item, int slot) const {
  return stdin_ ? std::optional(text(*stdin_, item, slot)) : std::nullopt;
}

std::optional<std::string> recipe::mistakable(exec_item const& item) const {
  if (options_.shell || !command_.puts_value() ||
      std::ranges::find(options_.command, "--") != options_.command.end())
    return std::nullopt;
  auto const is_option = [](std::string const& v) { return v.starts_with('-') && v.size() > 1; };
  for (auto const* const values : {&item.columns, &item.named})
    if (auto const at = std::ranges::find_if(*values, is_option); at != values->end())
      return fmt::format(
          "{} begins with -, and the command may take it for an option; put -- before {{}}",
          in_quotes(*at));
  return std::nullopt;
}

std::optional<std::string> recipe::scope(exec_item const& item) const {
  return scope_ ? std::optional(text(*scope_, item, 0)) : std::nullopt;
}

}  // namespace headway::app
