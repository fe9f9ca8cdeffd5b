#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/fatal.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "base/url.hpp"
#include "command.hpp"
#include "jobs/jobs_file.hpp"
#include "journal/failed_lines.hpp"
#include "journal/result.hpp"
#include "os/file.hpp"
#include "pacing/laws.hpp"
#include "run/runner.hpp"

namespace headway::app {
namespace {

duration parse_ttl(std::string_view text) {
  auto const ttl = parse_patience(text);
  if (ttl < 1s) throw std::invalid_argument("want at least 1s");
  return ttl;
}

std::string results_beside(std::string const& jobs) {
  return std::filesystem::path(jobs).replace_extension(".results.jsonl").string();
}

/// A URL in place of JOBS is a line of its own.
bool is_url(std::string const& jobs) {
  return jobs.starts_with("http://") || jobs.starts_with("https://");
}

/// Standard input has this line, and nothing else.
void read_from(std::string const& line) {
  file const text(memfd_create("line", MFD_CLOEXEC), "standard input");
  if (text.fd() < 0 || write_all(text.fd(), line) < line.size() ||
      lseek(text.fd(), 0, SEEK_SET) != 0 || dup2(text.fd(), STDIN_FILENO) < 0)
    throw fatal(exit_io, fmt::format("cannot keep a line in memory: {}", std::strerror(errno)));
}

/// Before a journal beside it is.
void require_readable(std::string const& jobs) {
  if (jobs == "-" || access(jobs.c_str(), R_OK) == 0) return;
  throw fatal(exit_usage, fmt::format("{}: cannot open it: {}", jobs, std::strerror(errno)));
}

/// "HOST=VALUE", or a value for all: then the host is "".
std::pair<std::string, std::string> of_host(std::string_view option, std::string const& text) {
  auto const equals = text.find('=');
  if (equals == text.npos) return {"", text};
  auto const host = text.substr(0, equals);
  auto const origin = destination_of("http://" + host + "/").origin;
  if (origin.empty() || host.find_first_of("/?#") != host.npos)
    throw fatal(exit_usage,
                fmt::format("{} {}: want HOST=VALUE or HOST:PORT=VALUE, as api.example=5", option,
                            in_quotes(text)));
  auto const has_port =
      host.find(':', host.find(']') == host.npos ? 0 : host.find(']')) != host.npos;
  return {has_port ? origin.substr(origin.find("://") + 3) : std::string(host_of(origin)),
          text.substr(equals + 1)};
}

/// Returns the option in words: for a host, or, where that is empty, for all.
std::string for_host(std::string_view option, std::string const& host) {
  return host.empty() ? std::string(option) : fmt::format("{} for {}", option, host);
}

host_ceiling& ceiling_of(run_options& o, std::string const& host) {
  auto const found = std::ranges::find(o.hosts, host, &host_ceiling::host);
  return found != o.hosts.end() ? *found : o.hosts.emplace_back(host_ceiling{.host = host});
}

/// What the command line says, as text, until it is checked.
struct arguments {
  run_options options;
  std::string leave, law = std::string(shipped_laws().front().name), level = "power", limit_at,
                     progress = "auto", format = "auto", speaks, sigv4, ok = "200-299", again;
  std::vector<std::string> rates, concurrencies, select, meta, quotas, spend_max, prices;
  std::optional<bounds_options> may{};
  std::string wait_max = "15min", request_deadline = "1h", time_max, header_ttl,
              retry_budget = "20%,10/s", connect_timeout = "10s", bodies_max = "512MiB", fleet,
              lease = "30s", timeout;
  CLI::Option const* asked_fleet = nullptr;

  /// The queue that this run uploads or joins, and what a queue does not go with.
  void share(run_options& o, CLI::App const& command) const {
    auto const* const environment = std::getenv("HEADWAY_FLEET");
    auto& q = o.queue;
    auto const asked = asked_fleet->count() > 0;
    if (!asked && q.join.empty()) {
      if (o.jobs.empty())
        throw fatal(
            exit_usage,
            "JOBS is required: a file of requests, a URL, or - for standard input; or --join NAME");
      return;
    }
    q.url = fleet;
    q.from_arguments = !fleet.empty();
    if (fleet.empty() && environment != nullptr) q.url = environment;
    if (q.url.empty())
      throw fatal(exit_usage,
                  "--fleet: want the URL of a database, here or in HEADWAY_FLEET, as "
                  "postgresql://headway@db/work");
    if (!q.join.empty() && !o.jobs.empty())
      throw fatal(exit_usage, "--join works on the lines of a queue; want no JOBS beside it");
    if (q.join.empty() && (o.jobs == "-" || is_url(o.jobs)))
      throw fatal(exit_usage, "--fleet wants JOBS in a file");
    q.lease = option_value("--lease", lease, parse_bound);
    if (q.lease < 1s || q.lease > 1h) throw fatal(exit_usage, "--lease: want 1s to 1h");
    struct refused {
      char const* option;
      char const* why;
    };
    constexpr refused with_fleet[] = {
        {"--journal", "the database is the journal"},
        {"--trace", "the decisions of many hosts cannot be replayed"},
        {"--alone", "hosts share their pace"},
        {"--keep-order", "results are collected in the order of JOBS"},
        {"--raw", "bodies come with the results; want --out FILE"},
        {"--out-dir", "bodies come with the results; want --out FILE"},
    };
    constexpr refused with_join[] = {
        {"--out", "the run that uploads collects, or headway fleet results"},
        {"--only", "it is for the run that uploads"},
        {"--spend-max", "the run that uploads says it, for all"},
        {"--price", "the queue says it"},
        {"--failed", "it is for the run that uploads"},
        {"--again", "it is for the run that uploads"},
        {"--url", "the queue says it"},
        {"--base-url", "the queue says it"},
        {"--body", "the queue says it"},
        {"--method", "the queue says it"},
        {"--format", "the queue says it"},
        {"--id", "the queue says it"},
        {"--meta", "the queue says it"},
        {"--select", "the queue says it"},
        {"--out-headers", "the queue says it"},
        {"--ok", "the queue says it"},
        {"--retry-unsafe", "the run that uploads says it, for all"},
        {"--dry-run", "there is no JOBS to look through"},
    };
    auto const refuse = [&](std::span<refused const> all, char const* beside) {
      for (auto const& [option, why] : all)
        if (command.get_option(option)->count() > 0)
          throw fatal(exit_usage, fmt::format("{} with {}: {}", option, beside, why));
    };
    refuse(with_fleet, "--fleet");
    if (!q.join.empty()) refuse(with_join, "--join");
    constexpr std::string_view name_bytes =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    if (q.join.size() > 64 || q.join.find_first_not_of(name_bytes) != q.join.npos)
      throw fatal(exit_usage, fmt::format("--join {}: want the name of a queue: up to 64 letters, "
                                          "digits, . _ and -",
                                          in_quotes(q.join)));
    q.collects = command.get_option("--out")->count() > 0;
    if (o.out == "-") throw fatal(exit_usage, "--out - with --fleet: want a file");
    if (!o.failed.empty() && !q.collects)
      throw fatal(exit_usage, "--failed with --fleet needs --out, which collects the results");
  }

  /// The key is where AWS's own tools look for it, and in no argument that others could see.
  void sign(run_options& o) const {
    auto const value = [](char const* name) {
      auto const* const v = std::getenv(name);
      return std::string(v == nullptr ? "" : v);
    };
    auto const colons = std::ranges::count(sigv4, ':');
    if (!sigv4.starts_with("aws:amz:") || colons != 3 || sigv4.find("::") != sigv4.npos ||
        sigv4.ends_with(':'))
      throw fatal(exit_usage, "--aws-sigv4 " + in_quotes(sigv4) + ": want aws:amz:REGION:SERVICE");
    auto const id = value("AWS_ACCESS_KEY_ID"), secret = value("AWS_SECRET_ACCESS_KEY");
    if (id.empty() || secret.empty())
      throw fatal(exit_usage,
                  "--aws-sigv4: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set");
    o.http.sigv4 = sigv4;
    o.http.sigv4_key = id + ':' + secret;
    if (!value("AWS_SESSION_TOKEN").empty())
      o.headers.emplace_back("X-Amz-Security-Token: ${env:AWS_SESSION_TOKEN}");
  }

  /// Of several each has a name, and none the same.
  static void check_names(std::vector<selection> const& all) {
    for (auto one = all.begin(); all.size() > 1 && one != all.end(); ++one) {
      if (one->name.empty())
        throw fatal(exit_usage, fmt::format("--select {}: several want a name each, as answer={}",
                                            in_quotes(one->pointer), printable(one->pointer)));
      if (std::find_if(all.begin(), one, [&](auto const& s) { return s.name == one->name; }) != one)
        throw fatal(exit_usage, fmt::format("--select {} is given twice", in_quotes(one->name)));
    }
  }

  run_options checked(CLI::App const& command) const {
    auto o = options;
    share(o, command);
    if (is_url(o.jobs)) read_from(std::exchange(o.jobs, "-") + "\n");
    if (o.queue.join.empty()) require_readable(o.jobs);
    require_state(o.state);
    o.law = law_named(law);
    if (!leave.empty()) {
      if (!leave_of(o.law.law)) throw fatal(exit_usage, "--leave is for the default law only");
      auto const share = option_value("--leave", leave, parse_leave);
      app::leave(o.law.law, share);
    }
    o.fleet = checked_limit_at(limit_at.empty() ? fleet : limit_at,
                               {.alone = o.alone, .traced = !o.trace.empty(), .law = &o.law});
    if (!sigv4.empty()) sign(o);
    if (!speaks.empty()) o.speaks = profile::named(speaks);
    for (auto const& text : rates) {
      auto const [host, value] = of_host("--rate", text);
      auto const rate = option_value(for_host("--rate", host), value, parse_ceiling);
      if (host.empty() && o.rate_ceiling)
        throw fatal(exit_usage, "--rate is given twice; want HOST=RATE for one of them");
      (host.empty() ? o.rate_ceiling : ceiling_of(o, host).rate) = rate;
    }
    for (auto const& text : concurrencies) {
      auto const [host, value] = of_host("--concurrency", text);
      auto const many = option_value(for_host("--concurrency", host), value, parse_concurrency);
      if (host.empty() && o.concurrency_ceiling > 0)
        throw fatal(exit_usage, "--concurrency is given twice; want HOST=N for one of them");
      (host.empty() ? o.concurrency_ceiling : ceiling_of(o, host).in_flight) = many;
    }
    for (auto const& text : quotas) o.quotas.push_back(option_value("--quota", text, parse_quota));
    for (auto const& text : spend_max)
      o.spend_max.push_back(option_value("--spend-max", text, parse_amount));
    for (auto const& text : prices) o.prices.push_back(option_value("--price", text, parse_price));
    for (auto one = o.quotas.begin(); one != o.quotas.end(); ++one)
      if (std::any_of(o.quotas.begin(), one, [&](auto const& q) { return q.name == one->name; }))
        throw fatal(exit_usage, "--quota " + one->name + " is given twice");
    o.ok = option_value("--ok", ok, statuses::parse);
    o.ok_text = ok;
    o.level = level == "process" ? durability::process : durability::power;
    o.format = format == "vegeta" ? line_format::vegeta : line_format::automatic;
    o.progress = progress == "json"              ? progress_style::json
                 : progress == "none" || o.quiet ? progress_style::none
                                                 : progress_style::automatic;
    o.wait_max = option_value("--wait-max", wait_max, parse_bound);
    o.request_deadline = option_value("--request-deadline", request_deadline, parse_bound);
    if (!timeout.empty()) o.timeout = option_value("--timeout", timeout, parse_bound);
    o.http.connect_timeout = option_value("--connect-timeout", connect_timeout, parse_bound);
    o.http.bodies_max = option_value("--bodies-max", bodies_max, parse_bytes);
    o.http.body_max = std::min(o.http.body_max, o.http.bodies_max / 4);
    if (!header_ttl.empty()) o.header_ttl = option_value("--header-ttl", header_ttl, parse_ttl);
    o.budget = option_value("--retry-budget", retry_budget, parse_budget);
    if (!time_max.empty()) o.time_max = option_value("--time-max", time_max, parse_bound);
    if (lower(o.out).ends_with(".csv")) {
      if (o.jobs == "-")
        throw fatal(exit_usage, "--out " + in_quotes(o.out) +
                                    " needs JOBS in a file: standard input cannot be read a second "
                                    "time");
      check_replaceable("--out", o.out);
      o.table = std::exchange(o.out, {});
    }
    if (!o.out.empty() && o.out != "-") check_folder("--out", o.out);
    if (o.raw) {
      o.out = "-";
    } else if (o.out.empty())
      o.out = o.jobs == "-" ? "-" : results_beside(o.jobs);
    if (o.journal.empty() && o.jobs != "-" && !o.raw && !o.queue) {
      check_jobs(o.jobs);  // before a journal is made beside it
      o.journal = o.jobs + ".headway";
    }
    if (!o.failed.empty()) {
      if (o.jobs == "-")
        throw fatal(exit_usage,
                    "--failed needs JOBS in a file: standard input cannot be read a second time");
      if (o.failed == "-") throw fatal(exit_usage, "--failed wants a file, not -");
      check_replaceable("--failed", o.failed);
    }
    if (!again.empty() && o.journal.empty() && !o.queue)
      throw fatal(exit_usage, "--again needs --journal, which says what has been done");
    if (again == "failed" || again == "all") o.again.push_back(final_outcome::failed);
    if (again == "unknown" || again == "all") o.again.push_back(final_outcome::unknown);
    for (auto const& text : select)
      o.select.push_back(option_value("--select", text, parse_selection));
    check_names(o.select);
    for (auto const& text : meta)
      for (std::size_t at = 0; at <= text.size();) {
        auto const end = std::min(text.find(',', at), text.size());
        o.meta.push_back(text.substr(at, end - at));
        at = end + 1;
      }
    o.may = may->read();
    o.body_text = body_of(o);  // read once, since it may be a pipe
    return o;
  }
};

}  // namespace

void add_run(CLI::App& program, action& chosen) {
  auto* const run = program.add_subcommand(
      "run",
      "Sends each HTTP request in JOBS once, as fast as the API lets it.\n\n"
      "  headway run jobs.jsonl --header 'Authorization: Bearer ${env:API_KEY}'\n\n"
      "JOBS has one request a line: a URL, or JSON with url, id, method, headers, body, body_file, "
      "cost, scope,\n"
      "timeout, idempotency_key, meta. Lines of OpenAI's Batch API and vegeta's JSON targets work "
      "as they are;\n"
      "--url and --body turn a CSV or other JSON lines into requests.\n"
      "Stop it at any moment; the same command goes on where it stopped. Ctrl-C or SIGTERM waits "
      "for what is out,\n"
      "at most its --timeout; a second one stops at once.\n"
      "Exit codes: 0 all succeeded, 1 some failed, 2 usage or input error, 3 --fail-if, 74 cannot "
      "write,\n"
      "75 run again later, 77 stopped, 129/130/131/143 interrupted, 141 standard output is "
      "closed.");
  auto const a = std::make_shared<arguments>();
  auto& o = a->options;
  run->add_option("JOBS", o.jobs, "File of requests, a URL, or - for standard input");
  run->add_option("--out", o.out,
                  "Write results here, one JSON object a line; - is standard output; x.csv: the "
                  "records with their answers, too [JOBS with .results.jsonl]");
  run->add_flag("--out-headers", o.out_headers,
                "Add the answer's headers to each result, Set-Cookie included");
  run->add_flag("--keep-order", o.keep_order,
                "Sort results in the order of JOBS when the run is over, however it ends");
  auto* const raw = run->add_flag(
      "--raw", o.raw,
      "Write the bodies of successes to standard output, each ended by a line feed, and nothing "
      "else; keeps no journal");
  auto* const select =
      run->add_option(
             "--select", a->select,
             "Keep only this part of a success's JSON body, as /choices/0/message; several "
             "with a name each: answer=/a")
          ->take_all()
          ->expected(1);
  run->add_option("--id", o.id,
                  "Know results by this field of the record, or {{a}}-{{b}} [field id, else line]");
  run->add_option("--meta", a->meta,
                  "Carry these fields of the record, as a,b, into its result; alone: all of them")
      ->take_all()
      ->expected(0, 1)
      ->allow_extra_args(false);
  auto* const out_dir =
      run->add_option(
             "--out-dir", o.out_dir,
             "Write each body to a file of this folder, named by line; results then have body_file")
          ->excludes(select);
  run->add_option(
         "--out-name", o.out_name,
         "Name files of --out-dir so: '{{id}}.json', with fields of the record, id or line")
      ->needs(out_dir);
  auto* const kept = run->add_option(
      "--journal", o.journal,
      "Record in this file what has been done, so that a run can go on [JOBS.headway]");
  run->add_option(
         "--durability", a->level,
         "Keep acknowledged results through a power cut (power), or only through a kill (process)")
      ->check(CLI::IsMember({"power", "process"}))
      ->capture_default_str();
  a->asked_fleet =
      run->add_option(
             "--fleet", a->fleet,
             "Upload JOBS to this PostgreSQL, as postgresql://headway@db/work, and work on "
             "it with all that --join [HEADWAY_FLEET]")
          ->type_name("URL")
          ->expected(0, 1);
  run->add_option("--join", o.queue.join, "Work on the queue of this name, without JOBS")
      ->type_name("NAME");
  run->add_option("--lease", a->lease,
                  "Give lines to another host when one is not heard for this long, with --fleet")
      ->capture_default_str();
  run->add_option("--base-url", o.base_url, "Prefix URLs in JOBS that are only a path");
  auto* const url =
      run->add_option("--url", o.url,
                      "Send lines of JOBS here that have no URL of their own: a JSON line without "
                      "\"url\" is the POST body");
  run->add_option(
         "--body", o.body,
         "Fill this template (or @FILE) from each record of JOBS, a CSV with a header line "
         "or JSON lines: {{field}}, also in --url")
      ->needs(url);
  run->add_option("--method", o.method, "Method of requests to --url [POST; GET without a body]")
      ->needs(url);
  run->add_option("--format", a->format,
                  "Format of JOBS: auto, or vegeta for JSON targets without the key 'header'")
      ->check(CLI::IsMember({"auto", "vegeta"}))
      ->capture_default_str();
  run->add_option("--header,-H", o.headers,
                  "Send 'Name: value' with ${env:NAME}, or the lines of @FILE, to one origin only")
      ->take_all()
      ->expected(1);
  run->add_option("--header-cmd", o.header_commands,
                  "Send 'Name: $(COMMAND)' with the line that COMMAND prints; COMMAND runs again "
                  "after a 401")
      ->take_all()
      ->expected(1);
  run->add_option("--header-ttl", a->header_ttl,
                  "Run --header-cmd again each time this is over, as 50min")
      ->needs("--header-cmd");
  run->add_option("--header-for", o.header_hosts,
                  "Send --header to this HOST, where JOBS has several origins")
      ->take_all()
      ->expected(1);
  run->add_option("--aws-sigv4", a->sigv4,
                  "Sign each attempt for aws:amz:REGION:SERVICE with AWS_ACCESS_KEY_ID, "
                  "AWS_SECRET_ACCESS_KEY and\nAWS_SESSION_TOKEN of the environment");
  run->add_option(
         "--rate", a->rates,
         "Send no faster than this: 50/s, 15/min, 15/min:5 with bursts of 5; HOST=50/s for "
         "one host")
      ->take_all()
      ->expected(1);
  run->add_option(
         "--quota", a->quotas,
         "Spend no faster than this, as tokens=90k/min; costs are learned, or given by JOBS")
      ->take_all()
      ->expected(1);
  run->add_option("--spend-max", a->spend_max,
                  "Stop when all runs of the journal or the queue have cost this much, as "
                  "tokens=5M or usd=20; "
                  "exit 77")
      ->take_all()
      ->expected(1);
  run->add_option("--price", a->prices,
                  "Count money, for --spend-max usd=20: input=0.15/M,output=0.60/M; in another "
                  "currency eur:input=…")
      ->take_all()
      ->expected(1);
  run->add_option("--concurrency", a->concurrencies,
                  "Keep at most this many requests in flight, 1 to 60000; HOST=N for one host")
      ->take_all()
      ->expected(1);
  auto* const law =
      run->add_option("--law", a->law, "Control law that finds the limit: " + law_names())
          ->capture_default_str();
  offered()[law] = names_of_laws;
  auto* const speaks = run->add_option("--profile", a->speaks,
                                       "Understand how this provider says 'slow down': " +
                                           fmt::format("{}", fmt::join(profile::names(), ", ")) +
                                           ", or a file [by host, else generic]");
  offered()[speaks] = profile::names;
  run->add_option("--leave", a->leave,
                  "Stay this far below the limit, as 30%, and yield to others");
  auto* const state = run->add_option(
      "--state", o.state,
      "Keep in this file what runs learn of limits [XDG_STATE_HOME/headway/limits.json]");
  run->add_flag("--cold", o.cold, "Ignore what was learned earlier, and keep nothing")
      ->excludes(state);
  run->add_flag("--alone", o.alone,
                "Share no pace with other runs of this user and machine that call the same API");
  add_limit_at(*run, a->limit_at);
  run->add_option("--ok", a->ok, "Count these statuses as success, as 200-299,404")
      ->capture_default_str();
  run->add_option("--only", o.only, "Send only the first N requests of JOBS; a later run goes on")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000}));
  run->add_option("--failed", o.failed,
                  "Write the lines that failed or are unknown to this file, ready to be run again");
  run->add_option("--again", a->again,
                  "Send again what failed, is unknown, or both (all) in earlier runs")
      ->check(CLI::IsMember({"failed", "unknown", "all"}));
  a->may.emplace(*run,
                 "Go on even if the first 20 requests all fail the same way, or a server cannot be "
                 "reached or refuses the caller");
  run->add_option("--attempts-max", o.attempts_max,
                  "Give a request up after this many failures; throttles never count")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  run->add_option(
         "--retry-budget", a->retry_budget,
         "Limit retries of what broke to a share of successes, and so many a second besides: "
         "20%,10/s, 5%, or off")
      ->capture_default_str();
  run->add_option("--redirects-max", o.redirects_max,
                  "Follow at most this many redirects for one request; 0: none")
      ->check(CLI::Range(0, 50))
      ->capture_default_str();
  run->add_option("--wait-max", a->wait_max,
                  "Park (exit 75) if the server asks for a longer wait than this")
      ->capture_default_str();
  run->add_option("--request-deadline", a->request_deadline,
                  "Give a request up this long after its first attempt")
      ->capture_default_str();
  run->add_option(
      "--timeout", a->timeout,
      "Give an attempt up after this time, where its line has no timeout [60s without a byte]");
  run->add_option("--time-max", a->time_max, "Stop after this time; the same command goes on");
  run->add_option("--connect-timeout", a->connect_timeout,
                  "Limit name lookup, connection and TLS to this time")
      ->capture_default_str();
  run->add_option(
         "--bodies-max", a->bodies_max,
         "Memory for the bodies in flight, as 2GiB; one answer has at most a quarter of it, "
         "and 64MiB")
      ->capture_default_str();
  run->add_flag("--retry-unsafe", o.retry_unsafe,
                "Repeat non-idempotent requests, too, that may have been carried out");
  run->add_option("--cacert", o.http.ca_file,
                  "Trust the certificates in this file instead of the system's")
      ->check(CLI::ExistingFile);
  run->add_option("--progress", a->progress, "Show progress as auto, json or none")
      ->check(CLI::IsMember({"auto", "json", "none"}))
      ->capture_default_str();
  run->add_flag("--quiet,-q", o.quiet, "Show no progress, but the summary");
  run->add_option("--metrics", o.metrics,
                  "Give figures to Prometheus: FILE.prom for a collector of text files, or "
                  "HOST:PORT to answer /metrics");
  run->add_option("--trace", o.trace,
                  "Write each decision to this file, for headway replay and headway report");
  run->add_flag("--dry-run", o.dry_run, "Check everything, show what would be done, send nothing");
  for (auto const* const other : {"--out", "--out-dir", "--out-name", "--out-headers",
                                  "--keep-order", "--failed", "--again", "--id", "--meta"})
    raw->excludes(run->get_option(other));
  raw->excludes(kept)->excludes(select);
  run->callback(
      [a, run, &chosen] { chosen = [a, run] { return headway::app::run(a->checked(*run)); }; });
}

}  // namespace headway::app
