/// `headway ctl`: living runs, asked and told.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "command.hpp"
#include "watch/command.hpp"
#include "watch/command_socket.hpp"

namespace headway::app {
namespace {

/// A line for a run: what it does, how far it is and what holds it back.
std::string row_of(live_run const& living, simdjson::dom::element state) {
  std::string_view jobs;
  auto const run = state["run"];
  std::int64_t done = 0, total = 0;
  double speed = 0, left = 0;
  std::string_view why;
  auto const is = [](auto error) { return error == simdjson::SUCCESS; };
  if (!is(state["jobs"].get(jobs))) jobs = "?";
  if (!is(run["done"].get(done))) done = 0;
  auto text = fmt::format("{:<8}{:<7}{}  {}", living.pid, living.surface, printable(jobs), done);
  if (is(run["total"].get(total))) text += fmt::format(" / {}", total);
  if (is(run["per_second"].get(speed)) && speed > 0) text += " · " + rate_in_words(speed);
  if (is(run["left_s"].get(left))) text += fmt::format(" · {} left", in_words(from_seconds(left)));
  if (is(run["waiting_for"].get(why)) && !why.empty())
    text += fmt::format(" · waiting: {}", printable(why));
  return text;
}

[[noreturn]] void not_there(std::string const& given) {
  std::vector<pid_t> living;
  for (auto const& r : live_runs()) living.push_back(r.pid);
  throw fatal(exit_usage,
              fmt::format("no run {} lives; {}", in_quotes(given),
                          living.empty() ? std::string("there is none")
                                         : fmt::format("there is {}", fmt::join(living, ", "))));
}

int list(bool json) {
  bool any = false;
  for (auto const& r : live_runs()) {
    auto const answer = ask(r, command{}.json());
    simdjson::dom::parser parser;
    simdjson::dom::element state;
    if (!answer || parser.parse(*answer).get(state) != simdjson::SUCCESS) continue;
    any = true;
    if (json)
      fmt::print("{{\"pid\":{},\"surface\":\"{}\",\"state\":{}}}\n", r.pid, r.surface, *answer);
    else
      fmt::print("{}\n", row_of(r, state));
  }
  if (!any && !json) fmt::print("no run lives\n");
  return exit_ok;
}

int tell(std::string const& pid, std::vector<std::string> const& words, bool json) {
  auto const runs = live_runs();
  auto const run =
      std::ranges::find_if(runs, [&](auto const& r) { return std::to_string(r.pid) == pid; });
  if (run == runs.end()) not_there(pid);
  command c;
  try {
    if (!words.empty()) c = command::typed(words.data(), words.data() + words.size());
  } catch (std::invalid_argument const& wrong) {
    throw fatal(exit_usage, wrong.what());
  }
  auto const answer = ask(*run, c.json());
  if (!answer) not_there(pid);
  simdjson::dom::parser parser;
  simdjson::dom::element said;
  std::string_view error, text;
  if (parser.parse(*answer).get(said) != simdjson::SUCCESS)
    throw fatal(exit_io, fmt::format("run {} gave no answer in JSON", pid));
  if (said["error"].get(error) == simdjson::SUCCESS) throw fatal(exit_usage, std::string(error));
  if (json)
    fmt::print("{}\n", *answer);
  else if (c.what == command::verb::status)
    fmt::print("{}\n", row_of(*run, said));
  else if (said["state"].get(text) == simdjson::SUCCESS)
    fmt::print("line {}: {}\n", c.line, text);
  else
    fmt::print("run {}: {}\n", pid, c.words());
  return exit_ok;
}

}  // namespace

void add_ctl(CLI::App& program, action& chosen) {
  auto* const ctl = program.add_subcommand(
      "ctl",
      "Lists the runs that live, and changes what they do.\n\n"
      "  headway ctl\n"
      "  headway ctl 4711 pause\n"
      "  headway ctl 4711 rate 20/s\n"
      "  headway ctl 4711 scope 'api.example*' concurrency 8\n"
      "  headway ctl 4711 explain 42\n\n"
      "pause, resume: hold what waits; what is in flight is finished. rate 20/s or off,\n"
      "concurrency 8 or off, leave 30%: as the options of run, also of one scope. spend-max\n"
      "tokens=5M. finish: no other line begins. stop: nothing goes out any more, as Ctrl-C; the "
      "same\n"
      "command goes on. explain N: where line N of JOBS stands. Only its own user can do this.\n"
      "Exit codes: 0 done, 2 usage error or no such run.");
  struct arguments {
    std::string pid;
    std::vector<std::string> words;
    bool json = false;
  };
  auto const a = std::make_shared<arguments>();
  auto* const pid =
      ctl->add_option("PID", a->pid, "Run, by its process; without it all are listed");
  offered()[pid] = [] { return std::vector<std::string>{}; };
  auto* const words = ctl->add_option(
      "COMMAND", a->words,
      "pause, resume, stop, finish, rate, concurrency, leave, spend-max, explain, status");
  offered()[words] = [] {
    return std::vector<std::string>{"pause",   "resume",      "stop",  "finish",
                                    "rate",    "concurrency", "leave", "spend-max",
                                    "explain", "status",      "scope"};
  };
  ctl->add_flag("--json", a->json, "Answer as JSON");
  ctl->callback([a, &chosen] {
    chosen = [a] { return a->pid.empty() ? list(a->json) : tell(a->pid, a->words, a->json); };
  });
}

}  // namespace headway::app
