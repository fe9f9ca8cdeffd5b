#include "proxy/inflate.hpp"

#include <zlib.h>

#include <algorithm>

#include "base/text.hpp"

namespace headway::app::proxy {
namespace {

constexpr int gzip_or_zlib = 15 + 32, raw = -15;

std::string read(std::string_view body, int window, std::size_t most) {
  z_stream z{};
  if (inflateInit2(&z, window) != Z_OK) return {};
  std::string text(most, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  z.avail_in = static_cast<uInt>(body.size());
  z.next_out = reinterpret_cast<Bytef*>(text.data());
  z.avail_out = static_cast<uInt>(most);
  inflate(&z, Z_SYNC_FLUSH);
  text.resize(most - z.avail_out);
  inflateEnd(&z);
  return text;
}

}  // namespace

std::string inflated(std::string_view body, std::string_view coding, std::size_t most) {
  auto const is = [&](std::string_view name) { return equal_ignoring_case(trimmed(coding), name); };
  if (!is("gzip") && !is("x-gzip") && !is("deflate")) return std::string(body);
  auto text = read(body, gzip_or_zlib, most);
  if (text.empty() && is("deflate")) text = read(body, raw, most);  // as some servers mean it
  return text;
}

}  // namespace headway::app::proxy
