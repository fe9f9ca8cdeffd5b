#include "exec/habits.hpp"

#include <algorithm>
#include <initializer_list>

namespace headway::app {
namespace {

struct habit {
  std::initializer_list<std::string_view> options;
  std::string_view instead;
};

habit const habits[] = {
    {{"-n", "-N", "-L", "-l", "--max-args", "--max-replace-args", "--max-lines"},
     "a job has one line; put several values on it: paste - - < FILE | headway exec --colsep '\\t' "
     "-- COMMAND {1} {2}"},
    {{"-m", "-X", "-x", "-s", "--xargs", "--max-chars"},
     "each value has a command of its own; xargs gives one many"},
    {{"--results", "--files", "--tmpdir"}, "want --out-dir DIR"},
    {{"--pipe", "--pipepart", "--spreadstdin", "--block", "--recstart", "--recend", "--round-robin",
      "--cat", "--fifo", "--tee"},
     "commands do not share our input; split it into files, and run one for each"},
    {{"--resume", "--resume-failed", "--retry-failed"},
     "with JOBS in a file the same command goes on by itself, and --again failed repeats failures"},
    {{"--delay"}, "want --rate, as 2/s"},
    {{"--bar", "--eta"}, "leave it out: progress is shown on a terminal"},
    {{"--header"}, "{name} in the command makes the first line of JOBS the names"},
    {{"-u", "--ungroup", "--lb", "--line-buffer", "--linebuffer", "--group"},
     "leave it out: an output is printed whole, when its command has ended"},
    {{"--tagstring", "--ctag", "--ctagstring"},
     "want --tag, which puts the value before each line"},
    {{"-t", "-v", "--verbose"}, "--dry-run shows the commands, and --joblog records them"},
    {{"-I", "-i", "-U", "--replace", "--rpl", "--plus"},
     "the value is {}, parts of it {.} {/} {//} {/.}, a column {1}, a field {name}"},
    {{"-r", "--no-run-if-empty", "--will-cite", "--citation"}, "leave it out"},
    {{"--link", "--xapply"}, "want :::+, which links values to those before it"},
    {{"-S", "--sshlogin", "--sshloginfile", "--slf", "--transfer", "--transferfile", "--return",
      "--trc", "--basefile", "--onall", "--nonall"},
     "commands run on this machine only; the command may be ssh"},
    {{"--shuf"}, "want shuf FILE | headway exec"},
    {{"-d", "--delimiter", "-E"}, "values end with a line feed, or with a zero byte (-0)"},
    {{"--load", "--memfree", "--memsuspend", "--noswap"},
     "leave it out: no more start than processors and memory carry"},
    {{"--nice"}, "want nice headway exec"},
    {{"--tty", "--fg", "-p", "--interactive", "--tmux"}, "commands have no terminal"},
    {{"--arg-sep", "--arg-file-sep"}, "values stand after :::, files after ::::"},
};

}  // namespace

std::string parallel_habit(std::string_view option) {
  auto const is_long = option.starts_with("--");
  auto const name = is_long ? option.substr(0, option.find('=')) : option.substr(0, 2);
  for (auto const& h : habits)
    if (std::ranges::find(h.options, name) != h.options.end()) return std::string(h.instead);
  return "";
}

}  // namespace headway::app
