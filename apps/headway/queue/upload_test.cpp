#include "queue/upload.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "folder.hpp"

namespace headway::app {
namespace {

TEST(queue_name, comes_from_the_file) {
  EXPECT_EQ(queue_name_of("in/jobs.jsonl"), "jobs");
  EXPECT_EQ(queue_name_of("part-07.csv"), "part-07");
  EXPECT_EQ(queue_name_of("two words.jsonl"), "two-words");
  EXPECT_TRUE(is_queue_name(queue_name_of(std::string(200, 'x'))));
  for (auto const* const name : {"", "a b", "a/b", "a'b", "\xc3\xa4"})
    EXPECT_FALSE(is_queue_name(name)) << name;
  EXPECT_FALSE(is_queue_name(std::string(65, 'x')));
}

struct with_its_body_test : folder_test {
  void write(char const* name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  std::string why_not(std::string_view line) const {
    try {
      with_its_body(line, folder);
    } catch (std::invalid_argument const& e) {
      return e.what();
    }
    return "";
  }
};

TEST_F(with_its_body_test, takes_the_place_of_the_file) {
  write("b", std::string("a \"b\"\n\0\xc3\xa4", 9));
  EXPECT_EQ(with_its_body(R"({"url":"http://a/","body_file": "b" ,"id":"1"})", folder),
            "{\"url\":\"http://a/\",\"body\":\"a \\\"b\\\"\\n\\u0000\xc3\xa4\" ,\"id\":\"1\"}");
  write("empty", "");
  EXPECT_EQ(with_its_body(R"( {"body\u005ffile":"empty"})", folder), R"({"body":""})");
}

TEST_F(with_its_body_test, leaves_other_lines_as_they_are) {
  for (auto const* const line :
       {"http://a/?body_file={", R"({"url":"http://a/file"})", R"({"body":"body_file"})"})
    EXPECT_EQ(with_its_body(line, folder), line);
}

TEST_F(with_its_body_test, is_text_of_bounded_size) {
  write("big", std::string(queue_body_bytes_max + 1, 'x'));
  write("binary", "\xff");
  EXPECT_EQ(
      why_not(R"({"body_file":"big"})"),
      "body_file " + path("big") + " has more than 1048576 bytes; a queue takes up to so many");
  EXPECT_EQ(why_not(R"({"body_file":"binary"})"),
            "body_file " + path("binary") + " is not UTF-8; a queue takes only text");
  EXPECT_EQ(why_not(R"({"body_file":"none"})"), "body_file " + path("none") + " cannot be read");
  write("big", std::string(queue_body_bytes_max, 'x'));
  EXPECT_EQ(why_not(R"({"body_file":"big"})"), "");
}

}  // namespace
}  // namespace headway::app
