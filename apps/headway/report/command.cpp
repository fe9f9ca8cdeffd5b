/// `headway report`: what a run did, as a page.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "os/named_files.hpp"
#include "os/replacement.hpp"
#include "report/html.hpp"
#include "report/markdown.hpp"

namespace headway::app {
namespace {

struct arguments {
  std::string trace, results, html, markdown;

  int act() const {
    if (trace.empty() && results.empty())
      throw fatal(exit_usage, "want the file of headway run --trace, or --results FILE");
    check_files();
    reported r{.title = std::filesystem::path(trace.empty() ? results : trace).filename().string()};
    if (!trace.empty()) {
      r.trace = figures_of_trace(trace);
      if (r.trace->attempts > 0) {
        auto const all = read_recording(trace);
        find_limit(*r.trace, all);
        r.laws = forecast_of(all);
      }
    }
    if (!results.empty()) r.results = figures_of_results(results);
    r.title = "headway run: " + printable(r.title);
    if (!html.empty()) write(html, in_html(r));
    if (!markdown.empty() && markdown != "-") write(markdown, in_markdown(r));
    if (markdown == "-" || (html.empty() && markdown.empty())) fmt::print("{}", in_markdown(r));
    return exit_ok;
  }

  void check_files() const {
    named_files all;
    all.add("TRACE", trace, false);
    all.add("the file of --results", results, false);
    all.add_written("--html", html, {".new"});
    if (markdown != "-") all.add_written("--md", markdown, {".new"});
    all.check_standard_streams();
  }

  static void write(std::string const& path, std::string const& text) {
    replacement whole(path);
    whole.append(text);
    whole.put();
  }
};

}  // namespace

void add_report(CLI::App& program, action& chosen) {
  auto* const report = program.add_subcommand(
      "report",
      "Shows what a run did, and why it waited.\n\n"
      "  headway run jobs.jsonl --trace run.trace\n"
      "  headway report run.trace --results jobs.results.jsonl --html run.html\n"
      "  headway report --results jobs.results.jsonl\n\n"
      "Of a trace: attempts and the believed limit, what was in flight, why it waited, latency,\n"
      "scopes, what another law would have done, what it cost, and what headway ctl changed. Of\n"
      "results: how requests ended, by host and status.\n"
      "Exit codes: 0 done, 2 usage error or no trace or results, 74 cannot write.");
  auto const a = std::make_shared<arguments>();
  report->add_option("TRACE", a->trace, "File that headway run --trace wrote");
  report->add_option("--results", a->results, "File of results of the run");
  report->add_option("--html", a->html, "Write a page to this file: plots and tables, no script");
  report->add_option("--md", a->markdown, "Write Markdown to this file; - is standard output [-]");
  report->callback([a, &chosen] { chosen = [a] { return a->act(); }; });
}

}  // namespace headway::app
