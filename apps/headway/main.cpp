#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fatal.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "commands.hpp"

namespace {

/// What opens next would take the number of a standard stream that is missing, and be read or
/// written in its place. /dev/null takes it, the wrong way round: using it is an error, as before.
void fill_standard_streams() {
  for (int const fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)  // the lowest number that is free
      open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/// What --header, --header-cmd and --env were given, once it has been read: others may look into
/// /proc/PID/cmdline.
void hide_secrets(std::span<char* const> arguments) {
  constexpr std::array<std::string_view, 3> names = {"--header", "--header-cmd", "--env"};
  bool next = false;
  for (char* const argument : arguments) {
    std::string_view const text(argument);
    auto begin = next ? 0 : text.size();
    if (!next && text.starts_with("-H")) begin = 2;
    for (auto const name : names)
      if (!next && text.starts_with(name) && text.substr(name.size()).starts_with('='))
        begin = name.size() + 1;
    next = !next && (text == "-H" || std::ranges::find(names, text) != names.end());
    std::fill(argument + begin, argument + text.size(), '*');
  }
}

/// A subcommand takes one line of `headway --help`, the first of its description.
struct brief : CLI::Formatter {
  std::string make_subcommand(CLI::App const* sub) const override {
    auto const what = sub->get_description();
    return fmt::format("  {:<12}{}\n", sub->get_name(), what.substr(0, what.find('\n')));
  }
};

using words = std::vector<std::string>;

/// What people type, as the parser knows it: a URL alone is to be fetched, "help run" is "run
/// --help".
words as_parsed(words given) {
  if (given.empty()) return given;
  auto const& first = given.front();
  if (first.starts_with("http://") || first.starts_with("https://"))
    given.insert(given.begin(), "run");
  else if (first == "help" && given.size() <= 2)
    given = given.size() == 2 ? words{given[1], "--help"} : words{"--help"};
  return given;
}

/// The command of `exec`: what stands after the first --, taken off.
words cut_command(words& given) {
  auto const at = std::ranges::find(given, "--");
  if (at == given.end()) return {};
  words command(at + 1, given.end());
  given.erase(at, given.end());
  return command;
}

words names_of_commands(CLI::App const& program) {
  words names;
  for (auto const* sub :
       program.get_subcommands([](auto const* s) { return !s->get_group().empty(); }))
    names.push_back(sub->get_name());
  return names;
}

/// Options of other tools that do the same.
std::string habit(std::string_view option) {
  constexpr std::pair<std::string_view, std::string_view> habits[] = {
      {"-c", "--concurrency"},
      {"-j", "--concurrency"},
      {"-P", "--concurrency"},
      {"--jobs", "--concurrency"},
      {"--parallel", "--concurrency"},
      {"--threads", "--concurrency"},
      {"-o", "--out"},
      {"--output", "--out"},
      {"-X", "--method"},
      {"--request", "--method"},
      {"-d", "--body"},
      {"--data", "--body"},
      {"--qps", "--rate"},
      {"--rps", "--rate"},
      {"--retries", "--attempts-max"},
      {"--retry", "--attempts-max"},
      {"-n", "--only"}};
  for (auto const& [theirs, ours] : habits)
    if (option == theirs) return std::string(ours);
  return "";
}

/// The option that `sub` does not have, or the argument that is one too many.
std::string why_unexpected(CLI::App const& sub, words const& given) {
  words names;
  for (auto const* o : sub.get_options()) {
    for (auto const& name : o->get_lnames()) names.push_back("--" + name);
    for (auto const& name : o->get_snames()) names.push_back("-" + name);
  }
  for (auto const& word : given) {
    auto const name = word.substr(0, word.find('='));
    if (name.size() < 2 || name.front() != '-' || std::ranges::find(names, name) != names.end() ||
        (name[1] != '-' && std::ranges::find(names, name.substr(0, 2)) != names.end()))
      continue;
    auto const same = habit(name);
    auto const known = !same.empty() && std::ranges::find(names, same) != names.end();
    auto const answer = headway::app::answered().find(&sub);
    auto const said = answer == headway::app::answered().end() ? "" : answer->second(name);
    return fmt::format(
        "{} has no option {}{}", sub.get_name(), headway::app::printable(name),
        !said.empty() ? "; " + said
        : known       ? "; did you mean \"" + same + "\"?"
                      : headway::app::did_you_mean(name, name.starts_with("--") ? names : words{}));
  }
  auto const left = sub.remaining();
  return fmt::format("{} takes no further argument {}{}", sub.get_name(),
                     headway::app::in_quotes(left.empty() ? given.back() : left.front()),
                     sub.get_name() == "exec" ? "; want -- before the command" : "");
}

/// A first word that is no command, and what it may be instead; "" where there is none.
std::string why_no_command(CLI::App const& program, words const& given) {
  if (given.empty() || given.front().starts_with('-')) return "";
  auto const& first = given.front();
  for (auto const* sub : program.get_subcommands([](auto const*) { return true; }))
    if (sub->get_name() == first) return "";
  auto const commands = names_of_commands(program);
  auto meant = headway::app::did_you_mean(first, commands);
  if (access(first.c_str(), F_OK) == 0) meant = "; did you mean \"headway run " + first + "\"?";
  return fmt::format("no command {}{} (commands: {}; see headway --help)",
                     headway::app::in_quotes(first), meant, fmt::join(commands, ", "));
}

/// What is wrong with the command line, and what would be right.
std::string why_wrong(CLI::App const& program, words const& given, CLI::ParseError const& wrong) {
  auto const commands = names_of_commands(program);
  if (given.empty())
    return fmt::format("want a command: {} (see headway --help)", fmt::join(commands, ", "));
  auto const& first = given.front();
  auto const known = std::ranges::find(commands, first) != commands.end();
  auto const& sub = known ? *program.get_subcommand(first) : program;
  std::string what = wrong.what();
  if (dynamic_cast<CLI::ExtrasError const*>(&wrong) != nullptr)
    what = why_unexpected(sub, {given.begin() + (known ? 1 : 0), given.end()});
  if (what == "JOBS is required") what += ": a file of requests, a URL, or - for standard input";
  return fmt::format("{} (see headway {}--help)", what, known ? first + " " : "");
}

/// Returns `code`, or why standard output could not be written, which it says.
int written(int code) {
  if (std::cout.flush() && std::fflush(stdout) == 0) return code;
  if (errno == EPIPE) return headway::app::exit_pipe;
  std::fprintf(stderr, "headway: cannot write standard output: %s\n", std::strerror(errno));
  return headway::app::exit_io;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace headway::app;
  fill_standard_streams();
  CLI::App program{
      "headway calls a rate-limited API as fast as it lets you; you don't have to know the "
      "limit.\n\n"
      "  headway mock --limit rate=50/s,burst=10 &\n"
      "  seq 1000 | sed 's|^|http://127.0.0.1:8429/|' > jobs.txt && headway run jobs.txt\n",
      "headway"};
  program.set_version_flag("-v,--version", "headway " HEADWAY_VERSION);
  program.require_subcommand(1);
  program.formatter(std::make_shared<brief>());
  program.footer("headway COMMAND --help lists the options of a command.");
  action chosen;
  words tail;
  add_commands(program, chosen, tail);
  add_generate(program, chosen);
  words given = as_parsed({argv + 1, argv + argc});
  if (!given.empty() && given.front() == "exec") tail = cut_command(given);
  try {
    if (auto const why = why_no_command(program, given); !why.empty()) throw fatal(exit_usage, why);
    program.parse(words(given.rbegin(), given.rend()));
    hide_secrets({argv, static_cast<std::size_t>(argc)});
    return written(chosen());
  } catch (CLI::Success const& shown) {  // --help, --version
    return written(program.exit(shown));
  } catch (CLI::ParseError const& wrong) {
    std::fprintf(stderr, "headway: %s\n", why_wrong(program, given, wrong).c_str());
    return exit_usage;
  } catch (fatal const& stop) {
    if (stop.code == exit_pipe) return stop.code;
    std::fprintf(stderr, "headway: %s\n", stop.what());
    return stop.code;
  } catch (std::exception const& stop) {
    std::fprintf(stderr, "headway: %s\n", stop.what());
    return exit_io;
  }
}
