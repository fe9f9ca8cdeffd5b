/// What other laws would have done, on the server that a recorded run was fitted with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "whatif/fit.hpp"
#include "whatif/recording.hpp"

namespace headway::app {

struct forecast {
  struct row {
    std::string law;
    duration took{};       ///< medians over some seeds
    double throttled = 0;  ///< share of the attempts
    std::int64_t attempts = 0;
    bool ended = true;  ///< false: it takes far more attempts than the run did
  };

  std::string scope{};        ///< the one that it is of
  bool elsewhere = false;     ///< the run had others, too
  std::int64_t attempts = 0;  ///< recorded
  std::int64_t requests = 0;  ///< the first ones, where the run had more than is simulated
  bool whole = true;          ///< these are all
  std::string limit{};        ///< as a scenario says it
  std::string how_sure{};
  likeness like{};
  std::string withheld{};   ///< why there are no rows
  std::vector<row> rows{};  ///< the sender that knows the limit first, then the fastest first
};

/// Fits a server to the recording, and lets some laws, ours and those of others, send the
/// same requests there. Withheld where the law that ran does not reproduce the run on that server.
/// Takes the first `attempts_max` attempts, which bounds its work, whatever the recording's length.
forecast forecast_of(recording const&, std::size_t attempts_max = 5'000);

}  // namespace headway::app
