/// What the command line looks like from outside: its man page and its completions in shells.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace headway::app {

/// An option, a flag or a positional, as users see it.
struct surface_option {
  std::vector<std::string> names;     ///< "-H", "--header"; of a positional its one name
  std::string value;                  ///< "TEXT"; "" of a flag
  std::vector<std::string> choices;   ///< all values that it takes, where they are few
  std::vector<std::string> offers{};  ///< values that a shell may offer
  std::string initial;                ///< its default, "" if it has none to show
  std::string what;                   ///< one line
  bool positional = false;
  bool repeatable = false;
};

struct surface_command {
  std::string name;  ///< "" for the program itself
  std::string what;  ///< as --help begins
  std::vector<surface_option> options;
};

/// The program, then its subcommands; what is hidden from --help is left out.
std::vector<surface_command> surface_of(CLI::App const& program);

/// The page headway(1), as man(7).
std::string man_page(std::vector<surface_command> const&);

std::string bash_completion(std::vector<surface_command> const&);
std::string zsh_completion(std::vector<surface_command> const&);
std::string fish_completion(std::vector<surface_command> const&);

}  // namespace headway::app
