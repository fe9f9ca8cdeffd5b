/// SHA-256, by OpenSSL.
#pragma once

#include <array>
#include <string_view>

namespace headway::app {

std::array<unsigned char, 32> sha256(std::string_view bytes);

}  // namespace headway::app
