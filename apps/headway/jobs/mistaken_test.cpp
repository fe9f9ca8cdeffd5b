#include "jobs/mistaken.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

TEST(mistaken_for, names_the_format_and_what_makes_jobs_of_it) {
  EXPECT_EQ(mistaken_for("\x1f\x8b\x08x", "a.gz"),
            "compressed with gzip; want text: zcat a.gz | headway run - --journal a.gz.headway");
  EXPECT_EQ(mistaken_for("\xff\xfeh", "a").substr(0, 7), "UTF-16;");
  for (auto const* const array : {"[", "[{\"url\":\"x\"}]", " [ {"})
    EXPECT_EQ(mistaken_for(array, "a.json"),
              "a JSON array; want one object a line: jq -c '.[]' a.json > a.json.jsonl");
  EXPECT_EQ(mistaken_for("http://h/1\rhttp://h/2", "a"),
            "lines end with CR; want LF: tr '\\r' '\\n' < a > a.lf");
  for (auto const* const jobs : {"", "http://h/", "{\"url\":\"x\"}", "[::1]:80/x", "id,q", "BZ"})
    EXPECT_EQ(mistaken_for(jobs, "a"), "") << jobs;
}

TEST(goes_on, only_where_json_is_open) {
  EXPECT_TRUE(goes_on("{"));
  EXPECT_TRUE(goes_on(" {\"url\": \"x\", "));
  EXPECT_FALSE(goes_on("{\"url\": \"x\""));
  EXPECT_FALSE(goes_on("http://h/,"));
}

}  // namespace
}  // namespace headway::app
