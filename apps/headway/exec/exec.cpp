/// `headway exec`: its options.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/fatal.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "base/whole_number.hpp"
#include "command.hpp"
#include "exec/habits.hpp"
#include "exec/room.hpp"
#include "exec/runner.hpp"
#include "journal/failed_lines.hpp"
#include "os/file.hpp"
#include "pacing/laws.hpp"
#include "pacing/settings.hpp"

namespace headway::app {
namespace {

/// "5s", or seconds alone, as GNU parallel has them.
duration parse_timeout(std::string_view text) {
  double seconds = 0;
  if (!parse_whole(text, seconds)) return parse_bound(text);
  if (!(seconds >= 0.001 && seconds <= 365 * 86400.0))
    throw std::invalid_argument("want from 1ms to a year");
  return from_seconds(seconds);
}

/// A number, or as GNU parallel has it: 0, as many as there is room for; 50%, +2, -1 of the
/// processors.
int parse_jobs(std::string_view text) {
  if (text == "0") return 0;
  auto const share = text.ends_with('%');
  auto number = text.substr(0, text.size() - (share ? 1 : 0));
  auto const more = number.starts_with('+'), less = number.starts_with('-');
  int many = 0;
  if (parse_whole(text, many) && many >= 1 && many <= 60'000) return many;
  if (more || less) number.remove_prefix(1);
  double n = 0;
  if (!(share || more || less) || !parse_whole(number, n) || !(n >= 0 && n <= 60'000))
    throw std::invalid_argument(
        "want a whole number from 1 to 60000; of the processors 50%, +2 or -1; or 0: what the "
        "machine carries, 64 at most");
  if (share) n = n / 100 * processors();
  if (more || less) n = processors() + (more ? n : -n);
  return std::clamp(static_cast<int>(n), 1, 60'000);
}

/// Of --colsep: \t is a tab, and any other character stands for itself after a backslash.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto const escaped = text[i] == '\\' && i + 1 < text.size();
    if (escaped) ++i;
    plain += escaped && text[i] == 't' ? '\t' : text[i];
  }
  return plain;
}

std::vector<std::string> lines_of(std::string const& path, char end) {
  std::ifstream named;
  if (path != "-") named.open(path, std::ios::binary);
  if (path != "-" && !named)
    throw fatal(exit_usage, fmt::format("{}: cannot open it: {}", path, std::strerror(errno)));
  std::vector<std::string> all;
  for (std::string line; std::getline(path == "-" ? std::cin : named, line, end);)
    all.push_back(line);
  if (end == '\n' && !all.empty() && all.front().ends_with('\r'))  // CR LF
    for (auto& line : all)
      if (line.ends_with('\r')) line.pop_back();
  return all;
}

/// Puts a pipe or a device, such as `<(…)`, in the place of standard input: as it can be read once
/// only, there is no journal of it. False of other files.
bool read_as_stdin(std::string const& path) {
  std::error_code error;
  auto const found = std::filesystem::status(path, error);
  if (!std::filesystem::is_fifo(found) && !std::filesystem::is_character_file(found)) return false;
  auto const pipe = file::open(path, O_RDONLY);
  if (dup2(pipe.fd(), STDIN_FILENO) < 0)
    throw fatal(exit_usage, fmt::format("{}: cannot open it: {}", path, std::strerror(errno)));
  return true;
}

/// As the command line has it, as text, until it is checked.
struct arguments {
  exec_options options;
  std::vector<std::string> const* tail = nullptr;  // what stands after --
  std::vector<std::string> arg_files, quotas;
  std::string jobs, limit_at, timeout, halt, rate, concurrency, law, leave, speaks,
      level = "power", progress = "auto", again, wait_max = "15min", time_max, throttle_exit;
  bool null = false;
  std::optional<bounds_options> may{};

  /// COMMAND ::: values :::+ values :::: files
  void read_tail(exec_options& o) const {
    auto const is_mark = [](std::string const& word) {
      return word == ":::" || word == ":::+" || word == "::::" || word == "::::+";
    };
    auto at = std::ranges::find_if(*tail, is_mark);
    o.command.assign(tail->begin(), at);
    while (at != tail->end()) {
      auto const mark = *at++;
      auto const end = std::find_if(at, tail->end(), is_mark);
      auto const linked = mark.ends_with('+');
      if (linked && o.input.sources.empty())
        throw fatal(exit_usage, mark + " links to the values before it, and there are none");
      if (at == end)
        throw fatal(exit_usage,
                    mark + " has nothing after it; want values after :::, files after ::::");
      if (mark.starts_with("::::")) {
        for (auto const& path : std::vector(at, end)) {
          o.input.sources.push_back(lines_of(path, o.input.end));
          o.input.linked.push_back(linked);
          o.files.push_back(path);
        }
      } else {
        o.input.sources.emplace_back(at, end);
        o.input.linked.push_back(linked);
      }
      at = end;
    }
  }

  void choose_input(exec_options& o) const {
    auto files = arg_files;
    if (!jobs.empty()) files.push_back(jobs);
    if (!o.input.sources.empty()) {
      if (!files.empty())
        throw fatal(exit_usage,
                    fmt::format("JOBS is given twice: {} and :::", in_quotes(files.front())));
    } else if (files.size() > 1) {
      for (auto const& path : files) {
        o.input.sources.push_back(lines_of(path, o.input.end));
        o.input.linked.push_back(false);
        o.files.push_back(path);
      }
    } else {
      o.input.path = files.empty() || read_as_stdin(files.front()) ? "-" : files.front();
      if (o.input.path == "-" && isatty(STDIN_FILENO) == 1)
        throw fatal(exit_usage,
                    "there are no values: want a file, ::: and values, or - for standard input");
    }
  }

  exec_options checked() const {
    auto o = options;
    o.input.separator = unescaped(o.input.separator);
    o.input.end = null ? '\0' : '\n';
    read_tail(o);
    if (o.command.empty() && !tail->empty())
      throw fatal(exit_usage,
                  "there is no command before the values; where they are commands themselves, want "
                  "headway exec -- sh -c {}");
    if (o.command.empty())
      throw fatal(exit_usage,
                  fmt::format("want -- before the command: headway exec {}-- COMMAND{}",
                              jobs.empty() ? "" : "[JOBS] ",
                              jobs.empty() ? "" : " (" + in_quotes(jobs) + " is read as JOBS)"));
    choose_input(o);
    if (!o.out.empty() && o.out != "-") check_folder("--out", o.out);
    auto const is_file = !o.input.path.empty() && o.input.path != "-";
    if (is_file && o.journal.empty()) o.journal = o.input.path + ".headway";
    if (is_file && o.out.empty())
      o.out = std::filesystem::path(o.input.path).replace_extension(".results.jsonl").string();
    if (o.out.empty() && !o.journal.empty()) o.out = o.journal + ".results.jsonl";
    require_state(o.state);
    if (!law.empty()) o.law = law_named(law);
    o.fleet = checked_limit_at(
        limit_at, {.alone = o.alone, .traced = !o.trace.empty(), .law = o.law ? &*o.law : nullptr});
    if (!leave.empty()) {
      if (!o.law) o.law = shipped_laws().front();
      if (!leave_of(o.law->law)) throw fatal(exit_usage, "--leave is for the default law only");
      auto const share = option_value("--leave", leave, parse_share);
      if (share > 0.95) throw fatal(exit_usage, "--leave is from 0% to 95%");
      app::leave(o.law->law, share);
    }
    if (!speaks.empty()) o.speaks = command_profile::named(speaks);
    if (!o.throttle.text.empty())
      option_value("--throttle-text", o.throttle.text, [](std::string_view text) {
        command_profile::check(text);
        return 0;
      });
    for (std::size_t at = 0; at < throttle_exit.size();) {
      auto const end = std::min(throttle_exit.find(',', at), throttle_exit.size());
      int code = 0;
      if (!parse_whole(std::string_view(throttle_exit).substr(at, end - at), code) || code < 1 ||
          code > 255)
        throw fatal(exit_usage,
                    fmt::format("--throttle-exit {}: want numbers from 1 to 255, as 75,69",
                                in_quotes(throttle_exit)));
      o.throttle.exits.push_back(code);
      at = end + 1;
    }
    if (!timeout.empty()) o.timeout = option_value("--timeout", timeout, parse_timeout);
    if (!halt.empty()) o.halt = option_value("--halt", halt, halt_rule::parse);
    if (!rate.empty()) o.rate_ceiling = option_value("--rate", rate, parse_ceiling);
    if (!concurrency.empty())
      o.concurrency = option_value("--concurrency", concurrency, parse_jobs);
    for (auto const& text : quotas) o.quotas.push_back(option_value("--quota", text, parse_quota));
    for (auto const& pair : o.environment)
      if (auto const equals = pair.find('='); equals == 0 || equals == pair.npos)
        throw fatal(exit_usage,
                    fmt::format("--env {}: want NAME=VALUE or NAME=@FILE; what is set already, "
                                "commands inherit",
                                in_quotes(pair)));
    o.level = level == "process" ? durability::process : durability::power;
    o.progress = progress == "json"              ? progress_style::json
                 : progress == "none" || o.quiet ? progress_style::none
                                                 : progress_style::automatic;
    o.wait_max = option_value("--wait-max", wait_max, parse_bound);
    if (!time_max.empty()) o.time_max = option_value("--time-max", time_max, parse_bound);
    if (!again.empty() && o.journal.empty())
      throw fatal(exit_usage, "--again needs --journal, which says what has been done");
    if (again == "failed" || again == "all") o.again.push_back(final_outcome::failed);
    if (again == "unknown" || again == "all") o.again.push_back(final_outcome::unknown);
    if (!o.failed.empty()) {
      if (!is_file || null) throw fatal(exit_usage, "--failed needs JOBS in a file of lines");
      check_replaceable("--failed", o.failed);
    }
    o.may = may->read();
    return o;
  }
};

}  // namespace

halt_rule halt_rule::parse(std::string_view text) {
  halt_rule h{.text = std::string(text)};
  auto const wrong = [] {
    return std::invalid_argument(
        "want never, or soon or now with fail=1, success=1 or done=20%, as soon,fail=1");
  };
  if (text == "never" || text == "0") return h;
  if (text == "1" || text == "2") {  // of old
    h.now = text == "2";
    h.limit = 1;
    return h;
  }
  auto const comma = text.find(','), equals = text.find('=');
  auto const when = text.substr(0, comma);
  if (comma == text.npos || equals == text.npos || (when != "soon" && when != "now")) throw wrong();
  h.now = when == "now";
  auto const what = text.substr(comma + 1, equals - comma - 1);
  if (what != "fail" && what != "success" && what != "done") throw wrong();
  h.what = what == "fail" ? kind::fail : what == "success" ? kind::success : kind::done;
  auto count = text.substr(equals + 1);
  h.share = count.ends_with('%');
  if (h.share) count.remove_suffix(1);
  if (!parse_whole(count, h.limit) || !(h.limit > 0 && h.limit <= 1e12) ||
      (h.share && h.limit > 100))
    throw wrong();
  return h;
}

bool halt_rule::met(standing const& s) const noexcept {
  if (limit <= 0) return false;
  auto const count = what == kind::fail      ? s.failed + s.unknown
                     : what == kind::success ? s.success
                                             : s.ended();
  if (!share) return static_cast<double>(count) >= limit;
  constexpr std::int64_t few = 3;  // as GNU parallel
  auto const all = s.total > 0 ? s.total : s.ended();
  return count >= few && static_cast<double>(count) * 100 >= limit * static_cast<double>(all);
}

void add_exec(CLI::App& program, action& chosen, std::vector<std::string> const& tail) {
  auto* const exec = program.add_subcommand(
      "exec",
      "Runs a command for each value, as fast as what it calls lets it.\n\n"
      "  headway exec -- aws emr describe-cluster --cluster-id {} ::: $(cat ids)\n"
      "  headway exec jobs.csv -- gh api repos/{owner}/{repo}/stats/contributors\n"
      "  seq 1000 | headway exec -- curl -fsS https://api.example/items/{}\n\n"
      "Values: lines of JOBS, or of standard input, or those after :::, as GNU parallel has them.\n"
      "In the command {} is the value, {.} {/} {//} {/.} parts of a path, {1} a column, {name} a "
      "field of CSV or\n"
      "JSON, {#} the number of the job, {%} its slot. No shell reads it, but with --shell.\n"
      "A command that was throttled runs again, and has not failed: profiles know how aws, gcloud, "
      "gh, kubectl,\n"
      "curl, rsync, terraform, claude and codex say so; any program may exit with 75, or write\n"
      "{\"throttle\":true,\"retry_after\":12} to descriptor HEADWAY_FD.\n"
      "With JOBS in a file, stop it at any moment; the same command goes on where it stopped.\n"
      "Exit codes: 0 all succeeded, 1 some failed, 2 usage or input error, 3 --fail-if, 74 cannot "
      "write,\n"
      "75 run again later, 77 stopped, 129/130/131/143 interrupted, 141 standard output is "
      "closed.");
  auto const a = std::make_shared<arguments>();
  a->tail = &tail;
  answered()[exec] = [&tail](std::string_view option) {
    auto said = parallel_habit(option);
    return said.empty() && tail.empty() ? "want -- before the command" : said;
  };
  auto& o = a->options;
  exec->add_option("JOBS", a->jobs,
                   "File of values, one a line; CSV or JSON lines where the command has {name} "
                   "[standard input]");
  exec->add_option("--arg-file,-a", a->arg_files,
                   "Read values from this file; of several, all "
                   "combinations")
      ->take_all()
      ->allow_extra_args(false);
  exec->add_flag("--null,-0", a->null, "End each value with a zero byte instead of a line feed");
  exec->add_option("--colsep,-C", o.input.separator, "Split each line here into {1}, {2}, …");
  exec->add_flag("--keep-empty", o.input.keep_empty, "Run the command for empty lines, too");
  exec->add_flag("--shell", o.shell,
                 "Run the command by /bin/sh -c; values are its parameters, never part of its "
                 "text: {} and the like, or $1 and $@");
  exec->add_option(
          "--env", o.environment,
          "Set NAME=VALUE for the command, with {} and the like; NAME=@FILE: what is in it")
      ->take_all()
      ->allow_extra_args(false);
  exec->add_option("--stdin-field", o.stdin_field,
                   "Give this text to the command as its input, as '{body}' [no input]");
  exec->add_option("--out", o.out,
                   "Write results here, one JSON object a line; - is standard output [JOBS with "
                   ".results.jsonl]");
  exec->add_option("--out-dir", o.out_dir,
                   "Write outputs to this folder, as 00000001.out and .err, instead of printing "
                   "them");
  exec->add_option("--keep-attempts", o.attempts_dir,
                   "Write the outputs of all attempts to this folder, too, as 00000001.1.out");
  exec->add_flag("--keep-order,-k", o.keep_order, "Print outputs in the order of the values");
  exec->add_flag("--tag", o.tag, "Print the value and a tab before each line");
  exec->add_flag("--no-print", o.no_print, "Print no outputs; they are in the results");
  exec->add_option("--joblog", o.job_log, "Write a line for each job here, as GNU parallel does");
  exec->add_option("--journal", o.journal,
                   "Record in this file what has been done, so that it can go on [JOBS.headway]");
  exec->add_option("--durability", a->level,
                   "Keep acknowledged results through a power cut (power), or only through a kill "
                   "(process)")
      ->check(CLI::IsMember({"power", "process"}))
      ->capture_default_str();
  exec->add_option("--failed", o.failed, "Write the lines that failed or are unknown to this file");
  exec->add_option("--again", a->again,
                   "Run again what failed, is unknown, or both (all) in earlier runs")
      ->check(CLI::IsMember({"failed", "unknown", "all"}));
  exec->add_flag("--safe", o.safe,
                 "Let the command run twice: no intent is kept, and what a kill interrupts runs "
                 "again");
  exec->add_option("--timeout", a->timeout,
                   "End a command after this time, as 30s: SIGTERM, and SIGKILL 5 s later");
  exec->add_option("--halt", a->halt,
                   "Stop as GNU parallel does: soon,fail=1, now,fail=3, "
                   "now,success=1");
  exec->add_option("--attempts-max,--retries", o.attempts_max,
                   "Run a command that fails up to so many times; throttles never count [1; 4 for "
                   "what is known to pass, where that is safe]")
      ->check(CLI::Range(1, 1'000'000));
  exec->add_flag("--detach-ok", o.detach_ok, "Let live what a command leaves running");
  auto* const speaks =
      exec->add_option("--throttled", a->speaks,
                       "Understand how this program says 'slow down': " +
                           fmt::format("{}", fmt::join(command_profile::names(), ", ")) +
                           ", or a file [by the command, else generic]");
  offered()[speaks] = command_profile::names;
  exec->add_option("--throttle-exit", a->throttle_exit,
                   "Take these exit codes for throttles, too, as 69,75");
  exec->add_option("--throttle-text", o.throttle.text,
                   "Take a failure for a throttle if a line that it printed matches this regular "
                   "expression");
  exec->add_flag("--throttle-anyway", o.throttle.anyway,
                 "Look for throttles in what a success printed, too");
  exec->add_option("--name", o.name, "Share one limit with all that have this name [the program]");
  exec->add_option("--scope", o.scope, "Give each of these a limit of its own, as '{host}'");
  exec->add_option("--rate", a->rate,
                   "Start no more than this: 50/s, 15/min, 15/min:5 in bursts of 5");
  exec->add_option(
          "--quota", a->quotas,
          "Spend no faster than this, as tokens=90k/min; commands tell costs on HEADWAY_FD")
      ->take_all()
      ->allow_extra_args(false);
  exec->add_option("--concurrency,-j,--jobs,-P,--max-procs", a->concurrency,
                   "Keep at most this many running; of the processors: 50%, +2, -1 [0: 64, or what "
                   "the machine carries]");
  auto* const law =
      exec->add_option("--law", a->law, "Control law that finds the limit: " + law_names());
  offered()[law] = names_of_laws;
  exec->add_option("--leave", a->leave,
                   "Stay this far below the limit, as 30%, and yield to others");
  auto* const state = exec->add_option("--state", o.state,
                                       "Keep in this file what is learned of limits "
                                       "[XDG_STATE_HOME/headway/limits.json]");
  exec->add_flag("--cold", o.cold, "Ignore what was learned earlier, and keep nothing")
      ->excludes(state);
  exec->add_flag("--alone", o.alone, "Share no pace with other runs of this user and machine");
  add_limit_at(*exec, a->limit_at);
  a->may.emplace(*exec, "Go on even if the first 20 jobs all fail with the same exit code");
  exec->add_flag("--exit-failures", o.exit_failures,
                 "Exit with the number of failed jobs, at most 101, as GNU parallel does");
  exec->add_option("--wait-max", a->wait_max,
                   "Park (exit 75) if a longer wait than this is asked for")
      ->capture_default_str();
  exec->add_option("--time-max", a->time_max, "Stop after this time; the same command goes on");
  exec->add_option("--progress", a->progress, "Show progress as auto, json or none")
      ->check(CLI::IsMember({"auto", "json", "none"}))
      ->capture_default_str();
  exec->add_flag("--quiet,-q", o.quiet, "Show no progress, but the summary");
  exec->add_option("--metrics", o.metrics,
                   "Give figures to Prometheus: FILE.prom for a collector of text files, or "
                   "HOST:PORT to answer /metrics");
  exec->add_option("--trace", o.trace,
                   "Write each decision to this file, for headway replay and headway report");
  exec->add_flag("--dry-run,--dryrun", o.dry_run,
                 "Check everything, print the commands, run nothing");
  exec->callback([a, &chosen] { chosen = [a] { return headway::app::exec(a->checked()); }; });
}

}  // namespace headway::app
