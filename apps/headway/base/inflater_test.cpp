#include "base/inflater.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace headway::app {
namespace {

constexpr int gzip = 15 + 16, zlib = 15, raw = -15;

std::string packed(std::string text, int frame) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 9, Z_DEFLATED, frame, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string all(deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(text.data());
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(all.data());
  z.avail_out = static_cast<uInt>(all.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  all.resize(z.total_out);
  deflateEnd(&z);
  return all;
}

struct unpacked {
  bool good = true, ended = false;
  std::string text{};
};

unpacked unpack(std::string_view coding, std::string_view bytes, std::size_t at_once) {
  unpacked all;
  inflater z(coding);
  for (; all.good && !bytes.empty(); bytes.remove_prefix(std::min(at_once, bytes.size())))
    all.good = z.take(bytes.substr(0, at_once), [&](std::string_view part) {
      all.text += part;
      return true;
    });
  all.ended = z.ended();
  return all;
}

TEST(inflater, reads_what_it_says) {
  for (auto const* const name : {"gzip", " GZIP", "x-gzip", "deflate"})
    EXPECT_TRUE(inflater::reads(name)) << name;
  for (auto const* const name : {"", "br", "zstd", "identity", "gzip, gzip"})
    EXPECT_FALSE(inflater::reads(name)) << name;
}

TEST(inflater, knows_where_a_stream_ends) {
  std::string text;
  for (int n = 0; n < 20'000; ++n) text += std::to_string(n);
  struct {
    char const* coding;
    int frame;
  } const rows[] = {
      {"gzip", gzip}, {"gzip", zlib}, {"deflate", zlib}, {"deflate", raw}, {"deflate", gzip}};
  for (auto const& row : rows)
    for (std::size_t const at_once : {1U, 7U, 1U << 20}) {
      auto const whole = packed(text, row.frame);
      auto const all = unpack(row.coding, whole, at_once);
      EXPECT_TRUE(all.good && all.ended && all.text == text) << row.coding;
      for (std::size_t const left : {std::size_t{1}, whole.size() / 2, whole.size() - 1}) {
        auto const some = unpack(row.coding, std::string_view(whole).substr(0, left), at_once);
        EXPECT_TRUE(some.good && !some.ended && text.starts_with(some.text)) << row.coding << left;
      }
    }
}

TEST(inflater, reads_several_in_a_row_and_nothing_behind_them) {
  auto const two = packed("one", gzip) + packed("two", gzip);
  for (std::string const behind : {"", "\n", "junk"}) {
    auto const all = unpack("gzip", two + behind, 1);
    EXPECT_TRUE(all.good && all.ended);
    EXPECT_EQ(all.text, "onetwo");
  }
  EXPECT_FALSE(unpack("gzip", std::string_view(two).substr(0, two.size() - 2), 5).ended);
}

TEST(inflater, refuses_what_is_none) {
  for (auto const* const coding : {"gzip", "deflate"})
    EXPECT_FALSE(unpack(coding, "\x1b[2J, no stream at all", 3).good) << coding;
  auto damaged = packed("some text that is long enough", gzip);
  damaged[damaged.size() - 6] ^= 1;  // of its CRC
  EXPECT_FALSE(unpack("gzip", damaged, 100).good);
}

TEST(inflater, ends_where_its_user_has_enough) {
  auto const bomb = packed(std::string(8 << 20, 'x'), gzip);
  std::size_t taken = 0, most = 0;
  inflater z("gzip");
  EXPECT_FALSE(z.take(bomb, [&](std::string_view part) {
    taken += part.size();
    most = std::max(most, part.size());
    return taken < 100'000;
  }));
  EXPECT_LT(taken, 100'000 + most);
  EXPECT_LE(most, 16'384U);
}

}  // namespace
}  // namespace headway::app
