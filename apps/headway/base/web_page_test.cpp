#include "base/web_page.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

TEST(web_page, no_text_ends_the_data) {
  web_page const page{"<script>", "</script>"};
  EXPECT_EQ(page.around(R"({"a":"</script>"})"), R"(<script>{"a":"\u003c/script>"}</script>)");
  EXPECT_TRUE(page.built());
  EXPECT_FALSE(web_page{}.built());
}

}  // namespace
}  // namespace headway::app
