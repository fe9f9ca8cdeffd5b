#include "exec/argv_template.hpp"

#include <gtest/gtest.h>

#include <array>

namespace headway::app {
namespace {

using words = std::vector<std::string>;

words filled(words const& given, words const& columns, words const& named = {}) {
  return argv_template(given).filled({.columns = columns, .named = named, .number = 7, .slot = 2});
}

TEST(argv_template, replaces_what_parallel_replaces) {
  words const value{"dir.d/sub/file.tar.gz"};
  for (auto const& [given, wanted] : {std::pair{"{}", "dir.d/sub/file.tar.gz"},
                                      {"{.}", "dir.d/sub/file.tar"},
                                      {"{/}", "file.tar.gz"},
                                      {"{//}", "dir.d/sub"},
                                      {"{/.}", "file.tar"},
                                      {"{1/.}", "file.tar"},
                                      {"{-1/}", "file.tar.gz"},
                                      {"{2}", ""},
                                      {"a{#}b{%}c", "a7b2c"},
                                      {"--x={/},{.}", "--x=file.tar.gz,dir.d/sub/file.tar"}})
    EXPECT_EQ(filled({"c", given}, value), (words{"c", wanted})) << given;
}

TEST(argv_template, folders_are_those_of_dirname) {
  for (auto const& [value, wanted] :
       {std::pair{"a", "."}, {"a/b/", "a"}, {"/a", "/"}, {"/", "/"}, {"a//b", "a"}, {"", "."}})
    EXPECT_EQ(filled({"{//}"}, {value}), words{wanted}) << value;
}

TEST(argv_template, adds_the_value_where_nothing_is_replaced) {
  EXPECT_EQ(filled({"echo", "a"}, {"b c"}), (words{"echo", "a", "b c"}));
  EXPECT_EQ(filled({"echo", "{#}"}, {"b"}), (words{"echo", "7"}));
}

TEST(argv_template, adds_nothing_where_the_value_goes_elsewhere) {
  argv_template const plain({"ps"}, argv_template::style::words, false);
  std::vector<std::string> const value{"secret"};
  EXPECT_EQ(plain.filled({.columns = value}), words{"ps"});
  argv_template const script({"ps x"}, argv_template::style::shell, false);
  EXPECT_EQ(script.filled({.columns = value}), (words{"/bin/sh", "-c", "ps x", "sh"}));
}

TEST(argv_template, knows_whether_the_value_is_in_it) {
  using enum argv_template::style;
  for (auto const* const with : {"{}", "a{/.}", "{2}", "{name}"})
    EXPECT_TRUE(argv_template({with}, text).puts_value()) << with;
  for (auto const* const without : {"", "a", "{#}{%}", "\\{}", "{{name}}"})
    EXPECT_FALSE(argv_template({without}, text).puts_value()) << without;
}

TEST(argv_template, leaves_other_braces_alone) {
  for (auto const* const text :
       {"{{.Names}}", "{print $1}", "{", "}", "{a,b}", "{\"a\": 1}", "{{x}} {{", "${", "{1a}"})
    EXPECT_EQ(filled({"c", text, "{}"}, {"v"}), (words{"c", text, "v"})) << text;
  EXPECT_EQ(filled({"c", "\\{}", "\\{name}", "{}"}, {"v"}), (words{"c", "{}", "{name}", "v"}));
}

TEST(argv_template, a_value_is_never_read_as_a_template) {
  EXPECT_EQ(filled({"{}", "{1}"}, {"{#}{}"}), (words{"{#}{}", "{#}{}"}));
}

TEST(argv_template, several_columns_are_several_arguments_or_one_text) {
  EXPECT_EQ(filled({"c", "{}", "x{}"}, {"a", "b"}), (words{"c", "a", "b", "xa b"}));
  EXPECT_EQ(filled({"c", "{2}", "{1}"}, {"a", "b"}), (words{"c", "b", "a"}));
}

TEST(argv_template, names_are_those_of_fields) {
  argv_template const t({"gh", "repos/{owner}/{repo}", "{owner}", "{path/.}"});
  EXPECT_EQ(t.names(), (words{"owner", "repo", "path"}));
  words const named{"o", "r", "a/b.c"};
  EXPECT_EQ(t.filled({.named = named}), (words{"gh", "repos/o/r", "o", "b"}));
  EXPECT_TRUE(t.fixed_program());
  EXPECT_FALSE(argv_template({"{}"}).fixed_program());
}

TEST(argv_template, a_script_gets_values_as_parameters_within_any_quotes) {
  argv_template const t({"echo {} \"x {1} $(cat '{2}' \"{}\")\" 'y {1}' # it's {}\necho {}"},
                        argv_template::style::shell);
  words const columns{"a", "b"};
  auto const all = t.filled({.columns = columns});
  EXPECT_EQ(all[2],
            "echo \"${1}\" \"x ${2} $(cat ''\"${3}\"'' \"${4}\")\" 'y '\"${5}\"'' # it's "
            "\"${6}\"\necho \"${7}\"");
  EXPECT_EQ((words{all.begin() + 3, all.end()}),
            (words{"sh", "a b", "a", "b", "a b", "a", "a b", "a b"}));
}

TEST(argv_template, a_script_that_reads_its_parameters_gets_the_columns_as_these) {
  words const columns{"a", "b"};
  for (auto const* const script :
       {"curl -s \"$1\" | grep ok", "echo $2", "f ${1%.*}", "echo \"$@\"", "echo $(cat $*)"})
    EXPECT_EQ(argv_template({script}, argv_template::style::shell).filled({.columns = columns}),
              (words{"/bin/sh", "-c", script, "sh", "a", "b"}));
  for (auto const* const script : {"awk '{print $1}'", "echo \\$1", "echo $HOME", "x # $1"})
    EXPECT_NE(argv_template({script}, argv_template::style::shell).filled({.columns = columns})[2],
              script);
}

}  // namespace
}  // namespace headway::app
