/// The subcommands of the headway program: each adds its options to the parser and leaves what it
/// does in `chosen`.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace headway::app {

using action = std::function<int()>;

/// What shells offer as the value of an option or positional, beyond what --help lists; looked up
/// when completions are written.
using offers = std::map<CLI::Option const*, std::function<std::vector<std::string>()>>;
inline offers& offered() {
  static offers all;
  return all;
}

void add_run(CLI::App& program, action& chosen);
/// `tail`: what stands after -- on the command line, once it has been parsed.
void add_exec(CLI::App& program, action& chosen, std::vector<std::string> const& tail);
void add_mock(CLI::App& program, action& chosen);
void add_proxy(CLI::App& program, action& chosen);
void add_replay(CLI::App& program, action& chosen);
void add_simulate(CLI::App& program, action& chosen);
void add_report(CLI::App& program, action& chosen);
void add_ctl(CLI::App& program, action& chosen);
void add_limits(CLI::App& program, action& chosen);
void add_fleet(CLI::App& program, action& chosen);
void add_generate(CLI::App& program, action& chosen);

}  // namespace headway::app
