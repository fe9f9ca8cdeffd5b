/// `headway simulate`: its options, where scenarios are found, and golden results.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fatal.hpp"
#include "base/nearest.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "base/whole_number.hpp"
#include "command.hpp"
#include "os/named_files.hpp"
#include "page/page.hpp"
#include "scenario/comparison.hpp"
#include "scenario/scenario_file.hpp"
#include "simulate/output.hpp"
#include "simulate/sweep.hpp"
#include "whatif/fit.hpp"

namespace headway::app {
namespace {

namespace fs = std::filesystem;

/// The options as they were typed.
struct words {
  std::vector<std::string> scenarios, laws, sweeps;
  int seeds = 9;
  std::uint64_t seed = 1;
  int threads = 0;
  std::int64_t events_max = 20'000'000;
  std::string from, save, json, csv, report, golden;
  bool list = false, digest = false, update = false;
};

/// Beside an installed program, else in the source tree that this one was built from.
fs::path library() {
  std::error_code none;
  auto const installed = fs::read_symlink("/proc/self/exe", none).parent_path().parent_path() /
                         "share/headway/scenarios";
  return fs::is_directory(installed, none) ? installed : fs::path(HEADWAY_SCENARIOS);
}

std::vector<fs::path> scenarios_in(fs::path const& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (auto const& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  if (files.empty())
    throw fatal(exit_usage, fmt::format("{}: there are no scenarios", folder.string()));
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> names_of_scenarios() {
  std::vector<std::string> names;
  for (auto const& file : scenarios_in(library())) names.push_back(file.stem().string());
  return names;
}

std::vector<std::string> names_of_laws() {
  std::vector<std::string> names;
  for (auto const* all : {&sim::contenders(), &sim::variants()})
    for (auto const& law : *all) names.emplace_back(law.name);
  return names;
}

fs::path find_scenario(std::string const& name) {
  if (fs::is_regular_file(name)) return name;
  auto known = library() / (name + ".toml");
  if (fs::is_regular_file(known)) return known;
  throw fatal(exit_usage, fmt::format("'{}' is neither a file nor the name of a scenario{}; "
                                      "headway simulate --list names them",
                                      name, did_you_mean(name, names_of_scenarios())));
}

sim::contender law_of(std::string const& text) {
  auto const bare = text.find_first_of("(+") == text.npos && text != "backoff";
  if (bare && sim::contender_named(text) == nullptr)
    throw fatal(exit_usage, fmt::format("--law '{}': there is no such law{}; "
                                        "headway simulate --list names them",
                                        text, did_you_mean(text, names_of_laws())));
  return option_value("--law", text, [](std::string_view t) { return sim::contender_of(t); });
}

/// The commas within parentheses separate a law's settings.
std::vector<std::string> split_laws(std::string_view text) {
  std::vector<std::string> laws{""};
  int depth = 0;
  for (char const c : text) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth <= 0)
      laws.emplace_back();
    else
      laws.back() += c;
  }
  return laws;
}

std::vector<sim::contender> laws_of(std::vector<std::string> const& lists) {
  if (lists.empty()) return sim::contenders();
  std::vector<sim::contender> laws;
  for (auto const& list : lists)
    for (auto const& text : split_laws(list)) {
      auto law = law_of(text);
      if (std::ranges::find(laws, law.name, &sim::contender::name) == laws.end())
        laws.push_back(std::move(law));
    }
  return laws;
}

/// On a terminal; cleared when it is over.
class bar {
 public:
  explicit bar(std::string what) : what_(std::move(what)), live_(isatty(STDERR_FILENO) != 0) {}
  ~bar() {
    if (live_) fmt::print(stderr, "\r\033[K");
  }
  bar(bar const&) = delete;
  bar& operator=(bar const&) = delete;

  void operator()(std::int64_t done, std::int64_t all) {
    if (!live_ || done * 100 / all == percent_) return;
    percent_ = done * 100 / all;
    auto const full = static_cast<std::size_t>(percent_ * 3 / 10);
    fmt::print(stderr, "\r{} [{}{}] {}/{} simulations\033[K", what_, std::string(full, '#'),
               std::string(30 - full, '.'), done, all);
    std::fflush(stderr);
  }

 private:
  std::string what_;
  bool live_;
  std::int64_t percent_ = -1;
};

/// A file to write, opened before the work begins so that an error is not told a minute late. "-"
/// is stdout, "" nothing.
class destination {
 public:
  explicit destination(std::string name) : name_(std::move(name)) {
    if (name_.empty() || is_stdout()) return;
    file_.open(name_, std::ios::binary | std::ios::app);  // what was there stays until write()
    if (!file_) fail();
  }
  bool wanted() const { return !name_.empty(); }
  bool is_stdout() const { return name_ == "-"; }

  void write(std::string const& text) {
    std::error_code none;
    if (!is_stdout() && fs::is_regular_file(name_, none)) fs::resize_file(name_, 0, none);
    auto& to = is_stdout() ? std::cout : file_;
    to << text << std::flush;
    if (!to) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw fatal(exit_io, fmt::format("{}: {}", name_, std::strerror(errno)));
  }

  std::string name_;
  std::ofstream file_;
};

/// What was typed, fit to be typed again.
std::string command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string line = "headway", word;
  std::getline(in, word, '\0');
  while (std::getline(in, word, '\0')) {
    constexpr auto plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,=:%+";
    if (!word.empty() && word.find_first_not_of(plain) == word.npos) {
      line += ' ' + word;
      continue;
    }
    for (auto at = word.find('\''); at != word.npos; at = word.find('\'', at + 4))
      word.replace(at, 1, "'\\''");
    line += " '" + word + '\'';
  }
  return line;
}

int list() {
  fmt::print("scenarios in {}\n", library().string());
  for (auto const* folder : {"", "texts", "crowds", "held-out", "held-out/crowds"})
    for (auto const& file : scenarios_in(library() / folder))
      fmt::print("  {:31} {}\n", (folder / file.stem()).string(),
                 read_scenario(file.string()).about);
  fmt::print("laws\n");
  for (auto const& law : sim::contenders()) fmt::print("  {:24} {}\n", law.name, law.what);
  fmt::print("the default law, otherwise (only where --law names them)\n");
  for (auto const& law : sim::variants()) fmt::print("  {:24} {}\n", law.name, law.what);
  return exit_ok;
}

comparing how_of(words const& w, bar& shown) {
  comparing how{.laws = laws_of(w.laws),
                .events_max = w.events_max,
                .threads = w.threads,
                .tick = [&shown](std::int64_t done, std::int64_t all) { shown(done, all); }};
  for (int i = 0; i < w.seeds; ++i) how.seeds.push_back(w.seed + static_cast<std::uint64_t>(i));
  return how;
}

std::string text_of(fs::path const& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The first seeds of every law on every scenario beside the folder, compared to the byte with what
/// is in it, or written there.
int golden(words const& w) {
  constexpr std::size_t kept = 3;           // seeds
  constexpr std::int64_t enough = 300'000;  // of events: a law that takes more is left out
  fs::path const folder = w.golden;
  auto files = w.scenarios.empty() ? scenarios_in(fs::absolute(folder / "..").lexically_normal())
                                   : std::vector<fs::path>{};
  for (auto const& name : w.scenarios) files.push_back(find_scenario(name));
  std::vector<sim::scenario> scenarios;
  for (auto const& file : files) scenarios.push_back(read_scenario(file.string()));

  bar shown("golden results");
  auto how = how_of(w, shown);
  how.seeds.resize(std::min(how.seeds.size(), kept));
  how.events_max = enough;
  int differ = 0;
  for (auto const& c : compare(scenarios, how)) {
    auto const file = folder / (c.what.name + ".json");
    auto const is = as_golden(c);
    auto was = text_of(file);
    if (how.seeds.size() < kept) was = first_seeds(was, is, how.seeds.size());
    if (is == was) continue;
    ++differ;
    if (w.update) {
      fs::create_directories(folder);
      destination(file.string()).write(is);
      fmt::print("{} written\n", file.string());
    } else {
      fmt::print("{} differs:\n{}", file.string(), difference(was, is));
    }
  }
  if (differ > 0 && !w.update)
    fmt::print("{} of {} differ; if that is meant: headway simulate --golden {} --update\n", differ,
               scenarios.size(), w.golden);
  return differ > 0 && !w.update ? exit_failed : exit_ok;
}

/// A scenario file made of a recorded run, told unless stdout is for another.
std::string made_of(words const& w, bool told) {
  auto const made = fit(read_recording(w.from));
  if (made.limit.empty())
    throw fatal(exit_usage, fmt::format("--from {}: it met no limit, and a scenario needs one: {}",
                                        w.from, made.unknown.front()));
  if (!w.save.empty()) destination(w.save).write(made.toml);
  if (told) fmt::print("{}\n", made.toml);
  return made.toml;
}

void check_files(words const& w) {
  named_files all;
  all.add("the file of --from", w.from, false);
  for (auto const& name : w.scenarios) all.add("SCENARIO", find_scenario(name).string(), false);
  for (auto const& [option, path] :
       {std::pair{"--save", w.save}, {"--json", w.json}, {"--csv", w.csv}, {"--report", w.report}})
    if (path != "-") all.add_written(option, path);
  all.check_standard_streams();
}

int simulate(words const& w) {
  if (w.list) return list();
  if (!w.golden.empty()) return golden(w);
  if (w.scenarios.empty() && w.from.empty())
    throw fatal(exit_usage, "simulate: which scenario? headway simulate --list names them");
  check_files(w);
  destination json(w.json), csv(w.csv), report(w.report);
  auto const to_stdout = json.is_stdout() + csv.is_stdout() + report.is_stdout();
  if (to_stdout > 1)
    throw fatal(exit_usage, "only one of --json, --csv and --report can be - (stdout)");
  if (report.wanted()) require_report();
  std::vector<sim::scenario> scenarios;
  std::vector<std::string> titles;
  std::vector<std::vector<setting>> swept;
  auto const each_combination = [&](auto const& read) {
    for (auto const& settings : combinations(w.sweeps)) {
      scenarios.push_back(read(settings));
      titles.push_back(scenarios.back().name);
      swept.push_back(settings);
      for (auto const& s : settings) titles.back() += fmt::format(" {}={}", s.key, s.value);
    }
  };
  if (!w.from.empty()) {
    auto const text = made_of(w, to_stdout == 0);
    auto const name = fs::path(w.from).filename().string() + ".toml";
    each_combination([&](auto const& settings) {
      return parse_scenario(text, name, settings, w.events_max / 10);
    });
  }
  for (auto const& name : w.scenarios)
    each_combination([&, file = find_scenario(name).string()](auto const& settings) {
      return read_scenario(file, settings, w.events_max / 10);
    });
  std::vector<comparison> results;
  {
    bar shown(scenarios.size() == 1 ? scenarios[0].name : "all");
    auto how = how_of(w, shown);
    how.timelines = report.wanted();
    results = compare(scenarios, how);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].title = titles[i];
    results[i].sweep = swept[i];
  }
  if (to_stdout == 0)
    for (auto const& c : results)
      fmt::print("{}{}", &c == &results.front() ? "" : "\n", as_table(c, w.digest));
  if (json.wanted()) json.write(as_json(results));
  if (csv.wanted()) csv.write(as_csv(results));
  if (report.wanted()) report.write(report_page(results, command_line()));
  return exit_ok;
}

}  // namespace

void add_simulate(CLI::App& program, action& chosen) {
  auto const w = std::make_shared<words>();
  auto* const sub = program.add_subcommand(
      "simulate",
      "Compares control laws in virtual time, on a server that you describe.\n\n"
      "The laws that ship run beside published ones and a sender that is told the limit.\n\n"
      "  headway simulate seed-003\n"
      "  headway simulate bucket-50-50ms --law seek,reno-0.9 --sweep latency=5ms,50ms,200ms "
      "--seeds 31\n"
      "  headway simulate my-api.toml --report my-api.html --json my-api.json\n"
      "  headway simulate --from run.trace --save my-api.toml\n\n"
      "A scenario is a few lines of TOML:\n\n"
      "  about = \"my API, as its documentation has it\"\n"
      "  limit = \"rate=50/s,burst=10\"\n"
      "  latency = \"20ms..80ms\"\n"
      "  clients = { requests = 1000 }\n");
  sub->option_defaults()->always_capture_default();
  auto const option = [sub](char const* name, auto& value, char const* type, char const* what) {
    return sub->add_option(name, value, what)->type_name(type);
  };
  auto* const names =
      option("SCENARIO", w->scenarios, "", "Scenario files, or names that --list prints")
          ->default_str("");
  auto* const from =
      option("--from", w->from, "FILE",
             "Make a scenario of a recorded run: a file that headway run --trace wrote, or its\n"
             "results, which tell less; says how sure each line is, and whether the law that ran\n"
             "takes the same time there");
  auto* const save =
      option("--save", w->save, "FILE", "Write the scenario of --from, to be edited")->needs(from);
  auto* const laws = option("--law", w->laws, "LAW,...",
                            "Compare these laws; all unless given. A law may have settings, as\n"
                            "tahoe(cut=0.9,cwnd=20) or backoff(full,base=1s,cap=10s)")
                         ->allow_extra_args(false)
                         ->default_str("");
  auto* const seeds =
      option("--seeds", w->seeds, "N",
             "Run this many seeds, 1 to 10000; the table has medians and 90th percentiles")
          ->check(CLI::Range(1, 10'000));
  auto* const seed =
      option("--seed", w->seed, "N", "Begin with this seed")->check([](std::string const& text) {
        std::uint64_t n = 0;
        return parse_whole(text, n)
                   ? std::string()
                   : fmt::format("{} is not a whole number from 0 to {}", in_quotes(text), ~n);
      });
  auto* const sweep =
      option(
          "--sweep", w->sweeps, "KEY=VALUE,...",
          "Try each value for a key of the scenario, such as latency=5ms,50ms or\n"
          "clients.requests=100,1000; values with commas are separated by ';', and a single one\n"
          "ends with it: 'latency=lognormal=50ms,cv=.3;'; repeatable: every combination")
          ->allow_extra_args(false)
          ->default_str("");
  auto* const report =
      option("--report", w->report, "FILE", "Write a page with curves and tables, for any browser");
  auto* const json = option("--json", w->json, "FILE",
                            "Write all figures, by seed (- is stdout, without the table)");
  auto* const csv =
      option("--csv", w->csv, "FILE", "Write all figures, a line for each scenario, law and seed");
  sub->add_flag("--digest", w->digest,
                "Print a number of what happened, the same on every compiler");
  sub->add_flag("--list", w->list, "List the scenarios and laws");
  option("--threads", w->threads, "N",
         "Use this many threads, 1 to 1024, or 0 for one a core; results do not depend on it")
      ->check(CLI::Range(0, 1024));
  option("--events-max", w->events_max, "N",
         "Leave a law out that takes more events than this on some seed")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{2'000'000'000}));
  auto* const golden = option(
      "--golden", w->golden, "FOLDER",
      "Compare to the byte with the results in FOLDER, of 3 seeds or less; its scenarios are "
      "beside it");
  for (auto* const other : {from, save, seed, sweep, report, json, csv}) golden->excludes(other);
  sub->add_flag("--update", w->update, "Write the results of --golden instead")
      ->needs(golden)
      ->excludes(seeds);
  offered()[names] = names_of_scenarios;
  offered()[laws] = names_of_laws;
  sub->callback([w, &chosen] { chosen = [w] { return simulate(*w); }; });
}

}  // namespace headway::app
