#include "base/digest.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cstddef>

#include "base/fatal.hpp"

namespace headway::app {

std::string digest_in_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  if (EVP_Digest(text.data(), text.size(), hash.data(), nullptr, EVP_sha256(), nullptr) != 1)
    throw fatal(exit_io, "SHA-256 is not available");
  std::string hex;
  for (std::size_t i = 0; i < 8; ++i) hex += fmt::format("{:02x}", hash[i]);
  return hex;
}

}  // namespace headway::app
