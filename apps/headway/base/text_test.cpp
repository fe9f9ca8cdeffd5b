#include "base/text.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

TEST(text, in_quotes) {
  std::string const long_text(79, 'a');
  struct {
    std::string text;
    std::string shown;
  } const rows[] = {
      {"", "\"\""},
      {"a\"b", "\"a\"b\""},
      {"a\x1b[2J\n\x7f", R"("a\x1b[2J\x0a\x7f")"},
      {"é", "\"é\""},
      {"a\xc2\x9b"
       "2Jb",
       R"("a\xc2\x9b2Jb")"},
      {"\x9b"
       "2J\xe9",
       R"("\x9b2J\xe9")"},
      {"\xc2\xa0", "\"\xc2\xa0\""},
      {"a\u202ecod\u2066\u2028", R"("a\xe2\x80\xaecod\xe2\x81\xa6\xe2\x80\xa8")"},
      {long_text + "b", "\"" + long_text + "b\""},
      {long_text + "bc", "\"" + long_text + "b…\""},
      {long_text + "éa", "\"" + long_text + "…\""},
  };
  for (auto const& row : rows) EXPECT_EQ(in_quotes(row.text), row.shown);
}

TEST(text, trimmed) {
  EXPECT_EQ(trimmed(" \ta b\r"), "a b");
  EXPECT_EQ(trimmed("  "), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(text, equal_ignoring_case) {
  EXPECT_TRUE(equal_ignoring_case("Content-Type", "content-tYPE"));
  EXPECT_FALSE(equal_ignoring_case("a", "ab"));
  EXPECT_FALSE(equal_ignoring_case("[", "{"));
}

TEST(cut_to, cuts_between_characters) {
  EXPECT_EQ(cut_to(5, "abcde"), "abcde");
  EXPECT_EQ(cut_to(4, "abcde"), "abc…");
  EXPECT_EQ(cut_to(3, "a·é·b"), "a·…");
  EXPECT_EQ(cut_to(4, "日本語"), "日…");
  EXPECT_EQ(cut_to(1, "日本語"), "…");
  EXPECT_EQ(cut_to(0, "a"), "");
  EXPECT_EQ(columns_of("a·日…"), 5U);
  EXPECT_EQ(columns_of("\xff\xe6"), 2U) << "bytes that are no character";
}

}  // namespace
}  // namespace headway::app
