#include <CLI/CLI.hpp>
#include <cstdio>

#include "command.hpp"

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
  action chosen;
  add_run(program, chosen);
  add_mock(program, chosen);
  add_replay(program, chosen);
  add_simulate(program, chosen);
  add_generate(program, chosen);
  try {
    program.parse(argc, argv);
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
