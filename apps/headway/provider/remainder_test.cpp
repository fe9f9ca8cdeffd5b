#include "provider/remainder.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace headway::app {
namespace {

std::vector<std::string> const refused{"429"};

std::string const request =
    "{\"index\":{\"_id\":\"a\"}}\n{\"n\":1.10}\n"
    "{\"delete\":{\"_id\":\"b\"}}\n"
    "{\"create\":{\"_id\":\"c\"}}\n{\"n\":3}\n";

TEST(remainder, a_member_is_replaced) {
  auto const rest = with_member(R"({"a": {"t": [1, 2]}, "b": 1.10})", "a", R"({"t":[2]})");
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->body, R"({"a":{"t":[2]},"b": 1.10})");
  EXPECT_DOUBLE_EQ(rest->share, 9.0 / 11);
  for (auto const* const other : {"", "[]", "{", R"({"b":1})"})
    EXPECT_FALSE(with_member(other, "a", "1")) << other;
}

TEST(remainder, lists_add_up) {
  EXPECT_EQ(with_lists(R"({"R":{"t":[1.10],"u":[ ],"v":[4]},"x":1})",
                       R"({"R":{"t":[2],"u":[3],"w":[5]},"x":2})", "R"),
            R"({"R":{"t":[1.10,2],"u":[3],"v":[4],"w":[5]},"x":2})");
  for (auto const* const other : {"", "[]", "{}", R"({"R":1})"})
    EXPECT_EQ(with_lists(R"({"R":{"t":[1]}})", other, "R"), other);
}

TEST(remainder, refused_operations_go_again) {
  auto const rest = refused_operations(
      request,
      R"({"errors":true,"items":[{"index":{"status":429}},{"delete":{"status":200}},{"create":{"status":429}}]})",
      refused);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->body,
            "{\"index\":{\"_id\":\"a\"}}\n{\"n\":1.10}\n{\"create\":{\"_id\":\"c\"}}\n{\"n\":3}\n");
  EXPECT_DOUBLE_EQ(rest->share, 2.0 / 3);
}

TEST(remainder, items_that_are_not_the_request_s_say_nothing) {
  for (auto const* const items :
       {R"([{"index":{"status":429}}])",
        R"([{"index":{"status":429}},{"delete":{}},{"create":{}},{"index":{}}])",
        R"([{"index":{"status":429}},{"index":{}},{"index":{}}])", R"([1,2,3])", R"({})",
        R"([{"index":{"status":201}},{"delete":{"status":200}},{"create":{"status":201}}])"})
    EXPECT_FALSE(refused_operations(request, std::string(R"({"items":)") + items + "}", refused))
        << items;
  EXPECT_FALSE(refused_operations(request, "", refused));
  EXPECT_FALSE(refused_operations("", R"({"items":[{"index":{"status":429}}]})", refused));
}

TEST(remainder, items_take_the_place_of_the_refused) {
  auto const earlier =
      R"({"took":1,"errors":true,"items":[{"index":{"status":429,"error":{}}},{"delete":{"status":200}},{"create":{"status":429,"error":{}}}]})";
  EXPECT_EQ(
      with_items(
          earlier,
          R"({"took":2,"errors":false,"items":[{"index":{"status":201}},{"create":{"status":200}}]})",
          refused),
      R"({"took":2,"errors":false,"items":[{"index":{"status":201}},{"delete":{"status":200}},{"create":{"status":200}}]})");
  for (auto const* const other :
       {"", "{}", R"({"items":[]})", R"({"items":[{"index":{}}]})", R"({"items":[1,2,3]})"})
    EXPECT_EQ(with_items(earlier, other, refused), other);
}

TEST(remainder, what_failed_before_is_still_an_error) {
  EXPECT_EQ(
      with_items(
          R"({"errors":true,"items":[{"index":{"status":400,"error":{}}},{"index":{"status":429,"error":{}}}]})",
          R"({"errors":false,"items":[{"index":{"status":201}}]})", refused),
      R"({"errors":true,"items":[{"index":{"status":400,"error":{}}},{"index":{"status":201}}]})");
}

}  // namespace
}  // namespace headway::app
