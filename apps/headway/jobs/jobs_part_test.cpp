#include "jobs/jobs_part.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/test_error.hpp"

namespace headway::app {
namespace {

/// "line id url body" of each.
std::vector<std::string> read(jobs_part part) {
  std::vector<std::string> all;
  while (auto const j = part.next())
    all.push_back(fmt::format("{} {} {} {}", j->line, j->id, j->url, j->body.value_or("-")));
  return all;
}

using texts = std::vector<std::string>;

TEST(jobs_part, numbers_lines_as_jobs_does) {
  EXPECT_EQ(
      read({{.base_url = "http://a"}, "", 1001, "/1\r\n\n# c\n{\"url\":\"/2\",\"id\":\"x\"}\n"}),
      (texts{"1001 1001 http://a/1 -", "1004 x http://a/2 -"}));
}

TEST(jobs_part, knows_the_header_of_a_csv_that_it_does_not_have) {
  line_options const options{.url = "http://a/{{n}}", .body = "[{{q}}]"};
  EXPECT_EQ(read({options, "n,\"q\nq\"\n", 1, "n,q\n1,a\n"}), (texts{"2 2 http://a/1 [\"a\"]"}));
  EXPECT_EQ(read({options, "n;q\n", 7, "\n1;\"a\nb\"\n2;c\n"}),
            (texts{"8 8 http://a/1 [\"a\\nb\"]", "10 10 http://a/2 [\"c\"]"}));
}

TEST(jobs_part, knows_which_records_jobs_has) {
  line_options const options{.url = "http://a/", .body = "[{{q}}]"};
  EXPECT_EQ(
      read({options, "\n{\"q\":1}\n", 3, "# a comment, not the header of a CSV\n{\"q\":2}\n"}),
      (texts{"4 4 http://a/ [2]"}));
}

TEST(jobs_part, a_line_of_its_own_may_look_like_another_format) {
  line_options const options{.url = "http://a/", .body = "[{{line}}]"};
  EXPECT_EQ(read({options, "word\n", 2, "{\"q\":2}\n"}), (texts{R"(2 2 http://a/ ["{\"q\":2}"])"}));
}

TEST(jobs_part, an_open_record_is_refused) {
  line_options const options{.file = "work", .url = "http://a/", .body = "[{{q}}]"};
  EXPECT_EQ(usage_error_of([&] {
              read({options, "q\n", 5, "\"a\n"});
            }),
            "work:5: the record that begins here ends within quotes");
}

}  // namespace
}  // namespace headway::app
