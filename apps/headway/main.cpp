#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "command.hpp"

namespace {

/// What --header was given, once it has been read: others may look into /proc/PID/cmdline.
void hide_headers(std::span<char* const> arguments) {
  bool next = false;
  for (char* const argument : arguments) {
    std::string_view const text(argument);
    auto const begin = next                            ? 0
                       : text.starts_with("--header=") ? std::string_view("--header=").size()
                       : text.starts_with("-H")        ? std::string_view("-H").size()
                                                       : text.size();
    next = !next && (text == "--header" || text == "-H");
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
