#include "base/base64.hpp"

#include <openssl/evp.h>

#include <cstdint>

#include "base/text.hpp"

namespace headway::app {
namespace {

/// Six bits; 64 for what is no digit of base64.
constexpr std::uint32_t six_bits(char c) noexcept {
  if (c >= 'A' && c <= 'Z') return static_cast<std::uint32_t>(c - 'A');
  if (c >= 'a' && c <= 'z') return static_cast<std::uint32_t>(c - 'a' + 26);
  if (is_digit(c)) return static_cast<std::uint32_t>(c - '0' + 52);
  return c == '+' ? 62 : c == '/' ? 63 : 64;
}

}  // namespace

std::optional<std::string> base64_decoded(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t const padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t held = 0;
  unsigned bits = 0;
  for (char const c : text) {
    auto const six = six_bits(c);
    if (six > 63) return std::nullopt;
    held = (held << 6U | six) & 0xffffU;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> bits & 0xffU);
  }
  return bytes;
}

std::string base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // EVP_EncodeBlock ends with a NUL
  auto const n = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                 reinterpret_cast<unsigned char const*>(bytes.data()),
                                 static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(n));
  return out;
}

}  // namespace headway::app
