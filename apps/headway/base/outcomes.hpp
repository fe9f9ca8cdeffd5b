/// How a request ends, and how safely that is kept.
#pragma once

#include <cstdint>
#include <string_view>

namespace headway::app {

/// What a commit survives. `process`: any death of the process. `power`: also a power cut or a
/// crash of the machine.
enum class durability : std::uint8_t { process, power };

/// How a request ended for good. `unknown`: it was sent, and whether it was carried out cannot be
/// told.
enum class final_outcome : std::uint8_t { success = 1, failed = 2, unknown = 3 };
/// Returns its name, as results have it.
std::string_view to_string(final_outcome) noexcept;

}  // namespace headway::app
