/// A digest: tells texts apart that are not to be shown.
#pragma once

#include <string>
#include <string_view>

namespace headway::app {

/// Returns the first 64 bits of its SHA-256, in hexadecimal. Errors: fatal(exit_io).
std::string digest_in_hex(std::string_view text);

}  // namespace headway::app
