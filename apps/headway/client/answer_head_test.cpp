#include "client/answer_head.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace headway::app {
namespace {

/// "name=value|" of each field after these lines; "!" behind the line after which it gave up.
std::string read(std::initializer_list<std::string_view> lines, bool* two_lengths = nullptr) {
  answer_head head;
  std::string text;
  for (auto const line : lines)
    if (!head.take(line)) text += '!';
  std::vector<http::field> all;
  head.read(all);
  for (auto const& f : all) text += std::string(f.name) + '=' + std::string(f.value) + '|';
  if (two_lengths != nullptr) *two_lengths = head.two_lengths();
  return text;
}

constexpr std::string_view status = "HTTP/1.1 200 OK\r\n";

TEST(answer_head, has_its_fields_as_they_are_written) {
  EXPECT_EQ(read({status, "A: b\r\n", "c:d \t\r\n", "E:\r\n", "a: f:g\n", "\r\n"}),
            "A=b|c=d|E=|a=f:g|");
  EXPECT_EQ(read({status, "no colon\r\n", ": none\r\n", "\r\n"}), "=none|");
  EXPECT_EQ(read({}), "");
}

TEST(answer_head, joins_what_goes_on_on_the_next_line) {
  EXPECT_EQ(read({status, "A: b\r\n", " c\r\n", "\td\r\n", "E: f\r\n", "\r\n"}), "A=b c\td|E=f|");
  EXPECT_EQ(read({status, " c: d\r\n", "\r\n"}), " c=d|");
}

TEST(answer_head, is_of_the_last_answer_and_without_trailers) {
  EXPECT_EQ(read({"HTTP/1.1 103 Early\r\n", "Link: x\r\n", "\r\n", status, "A: b\r\n", "\r\n",
                  "Trailer: t\r\n", "\r\n"}),
            "A=b|");
}

TEST(answer_head, ends_where_another_protocol_begins) {
  EXPECT_EQ(read({"HTTP/1.1 101 Switching Protocols\r\n"}), "!");
  EXPECT_EQ(read({"HTTP/1.1 101\r\n"}), "!");
  EXPECT_EQ(read({"HTTP/1.1 100 Continue 101\r\n", "\r\n", "HTTP/1.1\r\n", "\r\n"}), "");
}

TEST(answer_head, has_one_length) {
  struct {
    std::initializer_list<std::string_view> lines;
    bool two;
  } const rows[] = {
      {{status, "Content-Length: 2\r\n", "content-length:2\r\n", "\r\n"}, false},
      {{status, "Content-Length: 2, 2\r\n", "\r\n"}, false},
      {{status, "Content-Length: 2\r\n", "Content-Length: 4\r\n", "\r\n"}, true},
      {{status, "Content-Length: 2,4\r\n", "\r\n"}, true},
      {{status, "Content-Length: 2\r\n", "\r\n", "Content-Length: 4\r\n"}, false},
      {{"HTTP/1.1 103 E\r\n", "Content-Length: 2\r\n", "\r\n", status, "Content-Length: 4\r\n",
        "\r\n"},
       false},
      {{status, "Content-Length\r\n", "\r\n"}, false},
  };
  for (auto const& row : rows) {
    bool two = false;
    auto const text = read(row.lines, &two);
    EXPECT_EQ(two, row.two) << text;
    EXPECT_EQ(text.find('!') != text.npos, row.two) << text;
  }
  answer_head head;
  for (auto const line : {status, std::string_view("Content-Length: 017 \r\n")}) head.take(line);
  EXPECT_EQ(head.length(), "017");
}

TEST(answer_head, is_bounded_in_bytes_and_fields_over_all_answers) {
  answer_head head;
  std::string const line = "A: " + std::string(995, 'b') + "\r\n";
  std::size_t taken = 0;
  for (; head.take(line); ++taken)
    if (taken % 9 == 0) head.take("HTTP/1.1 100 Continue\r\n");
  EXPECT_TRUE(head.too_long());
  EXPECT_NEAR(static_cast<double>(taken), 262, 8);
  head.clear();
  EXPECT_FALSE(head.too_long());
  head.take(status);
  for (int i = 0; i < 1000; ++i) head.take("A: b\r\n");
  std::vector<http::field> all;
  head.read(all);
  EXPECT_EQ(all.size(), fields_max);
}

}  // namespace
}  // namespace headway::app
