#include "jobs/csv.hpp"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

#include "jobs/job.hpp"

namespace headway::app {
namespace {

using fields = std::vector<std::string>;

TEST(csv, records) {
  struct {
    char const* line;
    fields read;
  } const rows[] = {
      {"", {""}},
      {"a", {"a"}},
      {"a,b", {"a", "b"}},
      {",", {"", ""}},
      {"a,,", {"a", "", ""}},
      {" a , b ", {" a ", " b "}},
      {R"("a,b",c)", {"a,b", "c"}},
      {R"("","""")", {"", "\""}},
      {R"("say ""hi""",x)", {"say \"hi\"", "x"}},
      {R"(""",""")", {"\",\""}},
      {R"(a,"")", {"a", ""}},
  };
  for (auto const& row : rows) {
    csv_record record;
    EXPECT_TRUE(record.add(row.line)) << row.line;
    EXPECT_EQ(record.take(), row.read) << row.line;
  }
}

TEST(csv, line_feeds_in_quotes) {
  csv_record record;
  EXPECT_FALSE(record.add(R"(1,"a)"));
  EXPECT_TRUE(record.open());
  EXPECT_FALSE(record.add(""));
  EXPECT_FALSE(record.add(R"(b "",c)"));
  EXPECT_TRUE(record.add(R"(",2)"));
  EXPECT_FALSE(record.open());
  EXPECT_EQ(record.take(), (fields{"1", "a\n\nb \",c\n", "2"}));
  EXPECT_TRUE(record.add("x,y"));
  EXPECT_EQ(record.take(), (fields{"x", "y"}));
}

TEST(csv, refused) {
  for (auto const* line : {R"(a"b)", R"( "a")", R"("a"b)", R"("a" ,b)", R"(x,a"")"})
    EXPECT_THROW(csv_record().add(line), std::invalid_argument) << line;
}

TEST(csv, endless_record_is_refused) {
  csv_record record;
  EXPECT_FALSE(record.add("\""));
  std::string const piece(line_bytes_max / 2, 'x');
  EXPECT_FALSE(record.add(piece));
  EXPECT_THROW(record.add(piece), std::invalid_argument);
}

TEST(written_csv, has_quotes_where_rfc_4180_wants_them) {
  struct {
    fields given;
    char const* line;
  } const rows[] = {
      {{"a", "b"}, "a,b\n"},
      {{"", ""}, ",\n"},
      {{"say \"hi\"", "a,b", "c\nd", "e\rf", " g "},
       "\"say \"\"hi\"\"\",\"a,b\",\"c\nd\",\"e\rf\", g \n"},
      {{"\""}, "\"\"\"\"\n"},
      {{""}, "\"\"\n"},
      {{" "}, "\" \"\n"},
      {{"\xff", "'x'"}, "\xff,'x'\n"},
  };
  for (auto const& row : rows) {
    std::string out;
    append_csv(out, row.given);
    EXPECT_EQ(out, row.line);
  }
}

TEST(written_csv, is_read_as_it_was) {
  std::minstd_rand random(7);
  for (int round = 0; round < 2000; ++round) {
    fields written(1 + random() % 4);
    for (auto& field : written)
      for (auto n = random() % 6; n > 0; --n) field += "a\",\n \xe9{"[random() % 7];
    std::string out;
    append_csv(out, written);
    csv_record read;
    bool whole = false;
    for (std::size_t at = 0; at < out.size();) {
      ASSERT_FALSE(whole) << out;
      auto const end = out.find('\n', at);
      whole = read.add(std::string_view(out).substr(at, end - at));
      at = end + 1;
    }
    ASSERT_TRUE(whole);
    ASSERT_EQ(read.take(), written) << out;
  }
}

}  // namespace
}  // namespace headway::app
