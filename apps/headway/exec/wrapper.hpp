/// A wrapper: a program that starts another one, as `timeout 10 curl`, or runs a script.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace headway::app {

/// What a command is about: of `env A=b nice -n 5 curl -f` the third word, of `python3 -u x.py` the
/// script, of `sh -c TEXT` the text. A script's name does not make the machine its limit.
struct called {
  std::size_t at = 0;  ///< the index of its word; 0: no wrapper that is known
  bool text = false;   ///< that word is a script's text
};
called called_by(std::span<std::string const> words);

/// Returns the program that a shell script begins with, wrappers and assignments passed over; ""
/// where that takes a shell to tell, and where the machine is its limit, but the script goes on.
std::string program_of_script(std::string_view text);

}  // namespace headway::app
