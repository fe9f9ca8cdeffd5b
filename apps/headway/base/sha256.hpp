/// SHA-256, by OpenSSL.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace headway::app {

std::array<unsigned char, 32> sha256(std::string_view bytes);

/// Returns its first 64 bits in hexadecimal: tells texts apart that are not to be shown.
std::string digest_in_hex(std::string_view text);

}  // namespace headway::app
