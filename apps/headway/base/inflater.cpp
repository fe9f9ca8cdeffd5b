#include "base/inflater.hpp"

#include <array>

#include "base/text.hpp"

namespace headway::app {
namespace {

constexpr int gzip_or_zlib = 15 + 32, raw = -15;
constexpr unsigned char gzip_begins = 0x1f;

bool is_deflate(std::string_view coding) noexcept {
  return equal_ignoring_case(trimmed(coding), "deflate");
}

}  // namespace

bool inflater::reads(std::string_view coding) noexcept {
  auto const name = trimmed(coding);
  return is_deflate(name) || equal_ignoring_case(name, "gzip") ||
         equal_ignoring_case(name, "x-gzip");
}

inflater::inflater(std::string_view coding) noexcept : may_be_raw_(is_deflate(coding)) {}

inflater::~inflater() {
  if (state_ != state::fresh) inflateEnd(&zlib_);
}

/// The first byte of zlib's frame names its method, 8; none of raw deflate has these bits.
bool inflater::begin(unsigned char first) noexcept {
  auto const framed = !may_be_raw_ || first == gzip_begins || (first & 15) == 8;
  if (inflateInit2(&zlib_, framed ? gzip_or_zlib : raw) != Z_OK) return false;
  state_ = state::open;
  return true;
}

bool inflater::take(std::string_view bytes, std::function<bool(std::string_view)> const& use) {
  if (bytes.empty()) return true;
  auto* const first = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  if (state_ == state::fresh && !begin(*first)) return false;
  zlib_.next_in = first;
  zlib_.avail_in = static_cast<uInt>(bytes.size());
  while (zlib_.avail_in > 0) {
    if (state_ == state::ended) {
      if (*zlib_.next_in != gzip_begins || inflateReset(&zlib_) != Z_OK) return true;
      state_ = state::open;
    }
    if (!go_on(use)) return false;
  }
  return true;
}

/// To the end of the stream, or of what has come of it.
bool inflater::go_on(std::function<bool(std::string_view)> const& use) {
  std::array<char, 16'384> block;
  do {
    zlib_.next_out = reinterpret_cast<Bytef*>(block.data());
    zlib_.avail_out = static_cast<uInt>(block.size());
    auto const said = inflate(&zlib_, Z_NO_FLUSH);
    auto const size = block.size() - zlib_.avail_out;
    if (size > 0 && !use({block.data(), size})) return false;
    if (said == Z_STREAM_END) {
      state_ = state::ended;
      return true;
    }
    if (said == Z_BUF_ERROR) return zlib_.avail_in == 0;
    if (said != Z_OK) return false;
  } while (zlib_.avail_in > 0 || zlib_.avail_out == 0);
  return true;
}

}  // namespace headway::app
