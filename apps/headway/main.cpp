#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/fatal.hpp"
#include "command.hpp"

namespace {

/// What opens next would take the number of a standard stream that is missing, and be read or
/// written in its place. /dev/null takes it, the wrong way round: using it is an error, as before.
void fill_standard_streams() {
  for (int const fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)  // the lowest number that is free
      open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/// What --header and --header-cmd were given, once it has been read: others may look into
/// /proc/PID/cmdline.
void hide_headers(std::span<char* const> arguments) {
  constexpr std::array<std::string_view, 2> names = {"--header", "--header-cmd"};
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
  program.set_version_flag("--version", "headway " HEADWAY_VERSION);
  program.require_subcommand(1);
  program.formatter(std::make_shared<brief>());
  program.footer("headway COMMAND --help lists the options of a command.");
  action chosen;
  add_run(program, chosen);
  add_mock(program, chosen);
  add_replay(program, chosen);
  add_simulate(program, chosen);
  add_generate(program, chosen);
  try {
    program.parse(argc, argv);
    hide_headers({argv, static_cast<std::size_t>(argc)});
    return chosen();
  } catch (CLI::Success const& shown) {  // --help, --version
    return program.exit(shown);
  } catch (CLI::ParseError const& wrong) {
    std::fprintf(stderr, "headway: %s (see headway --help)\n", wrong.what());
    return exit_usage;
  } catch (fatal const& stop) {
    std::fprintf(stderr, "headway: %s\n", stop.what());
    return stop.code;
  } catch (std::exception const& stop) {
    std::fprintf(stderr, "headway: %s\n", stop.what());
    return exit_io;
  }
}
