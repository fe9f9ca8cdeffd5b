/// The bounds of a run: how badly it may go before it stops, or is called failed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "status/threshold.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace headway::app {

/// A crossed one is told as a sentence.
struct bounds {
  std::vector<threshold> stop_if, fail_if;
  bool canary = true;  ///< stop when the first results all fail the same way

  /// Why a run that stands so goes no further; nullopt: it goes on.
  std::optional<std::string> stops(standing const&) const;
  /// Why a run that ended so has failed; nullopt: it has not.
  std::optional<std::string> fails(standing const&) const;
};

/// The bounds as the command line has them: --stop-if, --fail-if, --no-canary.
class bounds_options {
 public:
  /// Adds them to a command; `no_canary`: what --no-canary does there.
  bounds_options(CLI::App& command, std::string const& no_canary);
  /// Once the command line has been parsed. Errors: fatal(exit_usage).
  bounds read() const;

 private:
  struct texts {
    std::vector<std::string> stop_if, fail_if;
    bool no_canary = false;
  };
  std::shared_ptr<texts> texts_ = std::make_shared<texts>();  // where the parser leaves them
};

}  // namespace headway::app
