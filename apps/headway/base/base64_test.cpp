#include "base/base64.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

TEST(base64, decoded) {
  struct {
    char const* text;
    std::string bytes;
  } const rows[] = {
      {"", ""},
      {"Zg==", "f"},
      {"Zm8=", "fo"},
      {"Zm9v", "foo"},
      {"Zm9vYg==", "foob"},
      {"Zm9vYmE=", "fooba"},
      {"Zm9vYmFy", "foobar"},
      {"+/+/", "\xfb\xff\xbf"},
      {"AAA=", std::string(2, '\0')},
  };
  for (auto const& row : rows) EXPECT_EQ(base64_decoded(row.text), row.bytes) << row.text;
}

TEST(base64, refused) {
  for (auto const* text :
       {"Z", "Zg", "Zg=", "Zm9", "=", "====", "Z===", "Zg==Zg==", "Zm 9", "-_-_", "Zm9v\n", "{}[]"})
    EXPECT_FALSE(base64_decoded(text)) << text;
}

}  // namespace
}  // namespace headway::app
