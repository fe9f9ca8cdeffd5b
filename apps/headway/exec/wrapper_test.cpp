#include "exec/wrapper.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <vector>

namespace headway::app {
namespace {

/// Words, split at spaces.
std::vector<std::string> split(std::string const& text) {
  std::istringstream in(text);
  std::vector<std::string> all;
  for (std::string word; in >> word;) all.push_back(word);
  return all;
}

std::string called_of(std::string const& text) {
  auto const all = split(text);
  auto const found = called_by(all);
  return (found.text ? "text " : "") + all[found.at];
}

TEST(wrapper, is_passed_over) {
  for (auto const& [command, wanted] : {std::pair{"curl -f x", "curl"},
                                        {"env A=b C={} curl x", "curl"},
                                        {"env -i -u X --chdir / -- A=b curl", "curl"},
                                        {"env - A=b aws s3", "aws"},
                                        {"/usr/bin/timeout 10 curl x", "curl"},
                                        {"timeout -k 5 --signal KILL --foreground 1m curl", "curl"},
                                        {"timeout --kill-after=5 -s9 {t} curl", "curl"},
                                        {"nice -n 5 curl", "curl"},
                                        {"nice -5 curl", "curl"},
                                        {"nice --adjustment 5 nohup setsid -w curl", "curl"},
                                        {"stdbuf -oL -e 0 curl", "curl"},
                                        {"time -f %e -o log curl", "curl"},
                                        {"ionice -c 3 -n7 curl", "curl"},
                                        {"env A=b timeout 9 nice python3 -u x.py y", "x.py"},
                                        {"python3.11 -W error -X dev dir/x.py", "dir/x.py"},
                                        {"python3 -m tool.main -x", "tool.main"},
                                        {"node --import tsx -r dotenv x.js", "x.js"},
                                        {"ruby -W2 -rjson -I lib x.rb", "x.rb"},
                                        {"perl -MData::Dumper -w -I lib x.pl", "x.pl"},
                                        {"bash -euo pipefail x.sh", "x.sh"},
                                        {"sh -c TEXT sh", "text TEXT"},
                                        {"nice bash -ec TEXT", "text TEXT"}})
    EXPECT_EQ(called_of(command), wanted) << command;
}

TEST(wrapper, keeps_its_own_name_where_it_starts_nothing_that_is_known) {
  for (auto const& [command, wanted] : {std::pair{"env", "env"},
                                        {"env -S x curl", "env"},
                                        {"timeout 10", "timeout"},
                                        {"ionice -p 7", "ionice"},
                                        {"python3 -c TEXT x.py", "python3"},
                                        {"nice python3 -c TEXT", "python3"},
                                        {"python3 - x", "python3"},
                                        {"nice python3 bin/convert x", "python3"},
                                        {"node -e TEXT", "node"},
                                        {"perl -lne TEXT x", "perl"},
                                        {"bash -s x", "bash"},
                                        {"pythonista x", "pythonista"},
                                        {"timeouts 10 curl", "timeouts"}})
    EXPECT_EQ(called_of(command), wanted) << command;
}

TEST(wrapper, of_a_script_is_what_it_begins_with) {
  for (auto const& [text, wanted] : {std::pair{"curl -f {} | jq .", "curl"},
                                     {"/usr/bin/curl {}", "curl"},
                                     {"A=b timeout 10 curl {}&& x", "curl"},
                                     {" aws s3 ls \"$1\"\n", "aws"},
                                     {"python3 x.py; y", "x.py"},
                                     {"exec -a x timeout 9 curl", "curl"},
                                     {"gzip -k {}\n", "gzip"},
                                     {"gzip -c \"$1\" | curl -T - x", ""},
                                     {"gzip $(curl x)", ""},
                                     {"python3 bin/convert x", "python3"},
                                     {"{}", ""},
                                     {"", ""},
                                     {"A='b c' curl", ""},
                                     {"[ {} = c ] || x", ""},
                                     {"sh -c 'curl x'", ""},
                                     {"$(which curl) x", ""}})
    EXPECT_EQ(program_of_script(text), wanted) << text;
  for (auto const* const word :
       {"set -e", "cd x", ".", "source", "export A=b", "eval curl", "if curl x", "for x in y",
        "while curl x", "until curl x", "case x in", "test -e x", "trap x EXIT", "umask 77",
        "ulimit -n 9", "-e curl", "exec"})
    EXPECT_EQ(program_of_script(word), "") << word;
}

}  // namespace
}  // namespace headway::app
