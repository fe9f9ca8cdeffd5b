#include "exec/input.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/fatal.hpp"
#include "folder.hpp"

namespace headway::app {
namespace {

class input_test : public folder_test {
 protected:
  exec_input open(std::string const& text, input_settings settings = {}) {
    std::ofstream(path("v"), std::ios::binary) << text;
    settings.path = path("v");
    return {std::move(settings), [this](std::string_view line, std::int64_t begins) {
              told.emplace_back(begins, line);
            }};
  }
  /// All jobs, after a survey of as many, as a run has them.
  static std::vector<exec_item> all(exec_input& input) {
    auto const surveyed = input.survey(nullptr);
    std::vector<exec_item> items;
    for (bool more = true; more;) {
      more = input.fill();
      while (auto item = input.ready()) items.push_back(std::move(*item));
    }
    EXPECT_EQ(items.size(), static_cast<std::size_t>(surveyed));
    return items;
  }
  static std::vector<std::string> words(std::vector<exec_item> const& items) {
    std::vector<std::string> found;
    for (auto const& item : items) found.push_back(item.words());
    return found;
  }
  std::string wrong(std::string const& text, input_settings settings = {}) {
    try {
      auto input = open(text, std::move(settings));
      all(input);
    } catch (fatal const& e) {
      return e.what();
    }
    return "";
  }

  std::vector<std::pair<std::int64_t, std::string>> told;
};

using texts = std::vector<std::string>;

TEST_F(input_test, cr_lf_ends_all_lines_if_it_ends_the_first) {
  auto input = open("a\r\n\r\nb\rc\r\r\nd\r");
  EXPECT_EQ(words(all(input)), (texts{"a", "b\rc\r", "d"}));
  auto literal = open("a\nb\r\n");
  EXPECT_EQ(words(all(literal)), (texts{"a", "b\r"}));
  auto zeros = open({"a\r\0b", 4}, {.end = '\0'});
  EXPECT_EQ(words(all(zeros)), (texts{"a\r", "b"}));
}

TEST_F(input_test, empty_lines_are_no_jobs_and_have_their_numbers_all_the_same) {
  auto input = open("a\n\n b \nc");
  auto const items = all(input);
  EXPECT_EQ(words(items), (texts{"a", " b ", "c"}));
  EXPECT_EQ(items[1].line, 3);
  EXPECT_EQ(items[1].number, 2);
  EXPECT_EQ(items[1].id, "3");
  EXPECT_EQ(told.size(), 4U);  // each line once, though it was read twice
}

TEST_F(input_test, empty_lines_are_jobs_if_so_asked) {
  auto input = open("a\n\n", {.keep_empty = true});
  EXPECT_EQ(words(all(input)), (texts{"a", ""}));
}

TEST_F(input_test, a_zero_byte_ends_what_has_line_feeds) {
  auto input = open(std::string("a\nb\0c\0", 6), {.end = '\0'});
  EXPECT_EQ(words(all(input)), (texts{"a\nb", "c"}));
}

TEST_F(input_test, a_separator_makes_columns) {
  auto input = open("a::b::\n", {.separator = "::"});
  EXPECT_EQ(all(input).front().columns, (texts{"a", "b", ""}));
}

TEST_F(input_test, names_make_it_csv_with_a_header_or_json) {
  input_settings const names{.names = {"b", "a"}};
  auto csv = open("a,b\n1,\"2\n3\"\n4,5\n", names);
  auto items = all(csv);
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].named, (texts{"2\n3", "1"}));
  EXPECT_EQ(items[0].line, 2);
  EXPECT_EQ(items[1].line, 4);
  auto json = open("{\"a\":1.10,\"b\":[2]}\n", names);
  EXPECT_EQ(all(json).front().named, (texts{"[2]", "1.10"}));
}

TEST_F(input_test, what_is_wrong_is_told_with_its_line) {
  EXPECT_NE(wrong("a,b\n1,\"2\n", {.names = {"a"}}).find(":2: a quote is open"), std::string::npos);
  EXPECT_NE(wrong("a,b\n1,2\n", {.names = {"c"}}).find(path("v") + ":1: "), std::string::npos);
  EXPECT_NE(wrong(std::string("a\n\0\n", 4)).find(":2: there is a zero byte"), std::string::npos);
  EXPECT_NE(wrong(std::string((1 << 20) * 65, 'x')).find(":1: "), std::string::npos);
}

TEST_F(input_test, sources_are_combined_and_the_last_goes_fastest) {
  exec_input input(
      {.sources = {{"1", "2"}, {"a", "b"}, {"x", "y", "z"}}, .linked = {false, false, true}}, {});
  EXPECT_EQ(words(all(input)), (texts{"1 a x", "1 b y", "2 a x", "2 b y"}));
}

TEST_F(input_test, values_on_the_command_line_have_no_names) {
  EXPECT_THROW(exec_input({.sources = {{"1"}}, .linked = {false}, .names = {"n"}}, {}), fatal);
}

TEST_F(input_test, a_source_without_a_value_makes_no_job) {
  exec_input input({.sources = {{"1", "2"}, {}}, .linked = {false, false}}, {});
  EXPECT_TRUE(all(input).empty());
}

}  // namespace
}  // namespace headway::app
