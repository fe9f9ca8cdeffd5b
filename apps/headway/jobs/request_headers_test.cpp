#include "jobs/request_headers.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

using lines = std::vector<std::string>;

TEST(request_headers, what_the_line_says_comes_first) {
  job j;
  j.headers = {"accept: x"};
  EXPECT_EQ(request_headers(j, lines{"Accept: y", "B: z", "B: zz"}),
            (lines{"accept: x", "B: z", "B: zz"}));
  j.json_body = true;
  j.idempotency_key = "k";
  EXPECT_EQ(request_headers(j, {}),
            (lines{"accept: x", "Content-Type: application/json", "Idempotency-Key: k"}));
  EXPECT_EQ(request_headers(j, lines{"content-type: a/b"}),
            (lines{"accept: x", "content-type: a/b", "Idempotency-Key: k"}));
}

}  // namespace
}  // namespace headway::app
