#include "jobs/csv.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace headway::app
