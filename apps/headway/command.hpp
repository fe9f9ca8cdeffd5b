/// The subcommands of the headway program: each adds its options to the parser and leaves what it
/// does in `chosen`.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace headway::app {

using action = std::function<int()>;

void add_run(CLI::App& program, action& chosen);
void add_mock(CLI::App& program, action& chosen);
void add_replay(CLI::App& program, action& chosen);
void add_simulate(CLI::App& program, action& chosen);
void add_generate(CLI::App& program, action& chosen);

}  // namespace headway::app
