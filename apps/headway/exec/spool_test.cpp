#include "exec/spool.hpp"

#include <string>

#include "base/fatal.hpp"
#include "folder.hpp"

namespace headway::app {
namespace {

using spool_test = folder_test;

std::string const much(spool::memory_max, 'x');

TEST_F(spool_test, keeps_little_in_memory) {
  spool s;
  s.begin(path("out"));
  s.append("one ");
  s.append("two");
  EXPECT_FALSE(s.in_file());
  EXPECT_EQ(s.head(3), "one");
  EXPECT_EQ(s.tail(3), "two");
  auto const all = s.take();
  EXPECT_EQ(all.text, "one two");
  EXPECT_EQ(all.in, nullptr);
  EXPECT_EQ(all.size, 7);
  EXPECT_FALSE(std::filesystem::exists(path("out")));
}

TEST_F(spool_test, one_byte_more_than_fits_goes_to_its_file_with_all_before_it) {
  spool s;
  s.begin(path("out"));
  s.append(much);
  EXPECT_FALSE(s.in_file());
  s.append("y");
  EXPECT_TRUE(s.in_file());
  EXPECT_EQ(s.tail(2), "xy");
  EXPECT_EQ(s.tail(much.size() + 100).size(), much.size() + 1);
  EXPECT_EQ(content("out"), much + "y");
  auto const all = s.take();
  EXPECT_EQ(all.text, "");
  EXPECT_EQ(all.size, static_cast<std::int64_t>(much.size()) + 1);
}

TEST_F(spool_test, without_a_path_the_file_has_no_name) {
  spool s;
  s.begin("");
  s.append(much);
  s.append(much);
  EXPECT_TRUE(s.in_file());
  EXPECT_EQ(s.tail(4), "xxxx");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(spool_test, begins_anew_without_what_was_there) {
  std::ofstream(path("out")) << "of a run that was killed";
  spool s;
  s.begin(path("out"));
  s.append(much + "y");
  EXPECT_EQ(content("out"), much + "y");
  s.begin(path("out"));
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  s.append("z");
  EXPECT_EQ(s.take().text, "z");
}

TEST_F(spool_test, says_that_it_cannot_write) {
  spool s;
  s.begin(path("none/out"));
  EXPECT_THROW(s.append(much + "y"), fatal);
}

}  // namespace
}  // namespace headway::app
