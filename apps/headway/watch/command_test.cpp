#include "watch/command.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace headway::app {
namespace {

command typed(std::vector<std::string> const& words) {
  return command::typed(words.data(), words.data() + words.size());
}

std::string error_of(std::string const& line) {
  try {
    command::parse(line);
  } catch (std::invalid_argument const& wrong) {
    return wrong.what();
  }
  return "";
}

TEST(command, what_is_typed_is_what_the_run_reads) {
  for (std::vector<std::string> const& words :
       std::vector<std::vector<std::string>>{{"status"},
                                             {"pause"},
                                             {"scope", "api \"x\" é*", "resume"},
                                             {"rate", "20/s"},
                                             {"scope", "*", "concurrency", "8"},
                                             {"leave", "30%"},
                                             {"spend-max", "tokens=5M"},
                                             {"explain", "42"},
                                             {"stop"},
                                             {"finish"}}) {
    auto const given = typed(words);
    auto const read = command::parse(given.json());
    EXPECT_EQ(read.what, given.what);
    EXPECT_EQ(read.scope, given.scope);
    EXPECT_EQ(read.value, given.value);
    EXPECT_EQ(read.line, given.line);
  }
  EXPECT_EQ(typed({"scope", "api*", "rate", "5/s"}).words(), "scope api* rate 5/s");
  EXPECT_EQ(typed({"explain", "42"}).line, 42);
}

TEST(command, what_is_none_is_refused_with_what_is_allowed) {
  for (auto const& [line, said] : std::vector<std::pair<std::string, std::string>>{
           {"", "want a JSON object"},
           {"[1]", "want a JSON object"},
           {std::string("{\"do\":\"\0\"}", 10), "want a JSON object"},
           {"{\"do\":\"\xc3\"}", "want a JSON object"},
           {"{\"do\":1}", "\"do\" is not text"},
           {"{}", "is not one of status, explain, pause"},
           {R"({"do":"puase"})", "did you mean \"pause\"?"},
           {R"({"do":"pause","x":"y"})", "\"x\" is not one of do, scope, value"},
           {R"({"do":"pause","value":"now"})", "pause wants no value"},
           {R"({"do":"rate"})", "rate wants a value"},
           {R"({"do":"stop","scope":"a"})", "stop is for the whole run"},
           {R"({"do":"pause","scope":"a\u0000b"})", "a scope has no NUL"},
           {R"({"do":"explain","value":"0"})", "want the number of a line"},
           {R"({"do":"explain","value":"1e3"})", "want the number of a line"}})
    EXPECT_NE(error_of(line).find(said), std::string::npos) << line << ": " << error_of(line);
  EXPECT_THROW(typed({"rate", "1/s", "2/s"}), std::invalid_argument);
  EXPECT_THROW(typed({"scope"}), std::invalid_argument);
  EXPECT_THROW(typed({"scope", "a"}), std::invalid_argument);
  EXPECT_THROW(typed({"scope", "", "pause"}), std::invalid_argument);
}

}  // namespace
}  // namespace headway::app
