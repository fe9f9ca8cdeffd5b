/// `headway mock`: its options, and its first and last words.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.hpp"
#include "base/fatal.hpp"
#include "base/whole_number.hpp"
#include "command.hpp"
#include "mock/service.hpp"
#include "scenario/grammar.hpp"

namespace headway::app {
namespace {

/// The options as they were typed.
struct words {
  std::string listen = "127.0.0.1:8429";
  std::string style = "plain";
  std::string requests;
  std::string tokens;
  std::string others;
  std::vector<std::string> limits;
  std::string schedule;
  std::string latency = "0s";
  std::string connect_latency = "0s";
  std::string error_latency = "0s";
  std::string retry_after = "none";
  std::string failures = "0%";
  std::string throttle_status;
  std::string log;
};

unsigned parse_status(std::string_view text) {
  unsigned status = 0;
  if (!parse_whole(text, status) || status < 400 || status > 599)
    throw std::invalid_argument("not a status from 400 to 599");
  return status;
}

retry_after_form parse_form(std::string_view text) {
  if (text == "none") return retry_after_form::none;
  if (text == "seconds") return retry_after_form::seconds;
  if (text == "date") return retry_after_form::date;
  if (text == "ms") return retry_after_form::milliseconds;
  throw std::invalid_argument("not none, seconds, date or ms");
}

mock_options parse(words const& w) {
  mock_options o{.listen = option_value("--listen", w.listen, address::parse)};
  for (auto const& text : w.limits)
    o.server.limits.push_back(option_value("--limit", text, parse_limit));
  if (!w.schedule.empty())
    o.server.schedule = option_value("--schedule", w.schedule, parse_schedule);
  if (auto const* const what = sim::contradiction(o.server))
    throw fatal(exit_usage, fmt::format("--limit and --schedule: {}", what));
  o.server.latency = option_value("--latency", w.latency, parse_spread);
  o.server.error_latency = option_value("--error-latency", w.error_latency, parse_time);
  o.server.failures = option_value("--failures", w.failures, parse_share);
  o.connect_latency = option_value("--connect-latency", w.connect_latency, parse_spread);
  o.retry_after = option_value("--retry-after", w.retry_after, parse_form);
  auto const quota = [](std::string_view what, std::string const& text) {
    return text.empty() ? std::nullopt
                        : std::optional(option_value(
                              fmt::format("--{}", what), text,
                              [&](std::string_view t) { return parse_refilling(what, t); }));
  };
  if (w.style == "openai")
    o.openai = completions(quota("requests", w.requests), quota("tokens", w.tokens));
  else if (!w.requests.empty() || !w.tokens.empty())
    throw fatal(exit_usage, "--requests and --tokens are for --style openai");
  o.emr = w.style == "emr";
  if (o.emr) o.throttle_status = 400;
  if (!w.throttle_status.empty())
    o.throttle_status = option_value("--throttle-status", w.throttle_status, parse_status);
  if (!w.others.empty()) {
    auto const rate = option_value("--others", w.others, parse_rate);
    o.others = from_seconds(to_seconds(rate.period) / rate.units);
  }
  return o;
}

/// The access log: complete lines as they happen, so that `tail -f` and a crash of the reader's
/// test both work.
class log_file {
 public:
  explicit log_file(std::string const& name)
      : name_(name), file_(name == "-" ? stdout : std::fopen(name.c_str(), "we")) {
    if (!file_) throw_error();
    std::setvbuf(file_, nullptr, _IOLBF, 1 << 16);
  }
  ~log_file() {
    if (file_ != stdout) std::fclose(file_);
  }
  log_file(log_file const&) = delete;
  log_file& operator=(log_file const&) = delete;

  std::FILE* handle() const { return file_; }

  void check() const {
    if (std::fflush(file_) != 0 || std::ferror(file_) != 0) throw_error();
  }

 private:
  [[noreturn]] void throw_error() const {
    throw fatal(exit_io, fmt::format("--log '{}': {}", name_, std::strerror(errno)));
  }

  std::string name_;
  std::FILE* file_;
};

/// A connection is a descriptor; the usual soft limit of 1024 is below what one client may open.
void allow_many_connections() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

int mock(words const& w) {
  auto options = parse(w);
  auto at = options.listen;
  std::optional<log_file> log;
  if (!w.log.empty()) options.log = log.emplace(w.log).handle();

  allow_many_connections();
  mock_service service(std::move(options));
  service.stop_on_signals();
  at.port = service.port();
  fmt::print("listening on http://{}\n", at.text());
  std::fflush(stdout);
  service.run();

  auto const t = service.totals();
  fmt::print(
      "{} requests: {} accepted ({} of them failed on purpose), {} throttled; peak in flight {}\n",
      t.requests, t.requests - t.throttled - t.silent, t.failed, t.throttled, t.peak_in_flight);
  if (t.silent > 0) fmt::print("{} were never answered\n", t.silent);
  if (t.late > 0) fmt::print("{} took longer than the gateway waits\n", t.late);
  if (t.others > 0)
    fmt::print("{} requests of others: {} throttled\n", t.others, t.others_throttled);
  if (log) log->check();
  return exit_ok;
}

}  // namespace

void add_mock(CLI::App& program, action& chosen) {
  auto const w = std::make_shared<words>();
  auto* const sub = program.add_subcommand(
      "mock",
      "Runs an HTTP server that throttles on purpose, to try things on.\n\n"
      "  headway mock --limit rate=50/s,burst=10 --latency 20ms..80ms --log access.log\n"
      "  headway mock --limit concurrent=50,error-holds=50ms --connect-latency 100ms "
      "--latency 500ms --error-latency 50ms\n"
      "  headway mock --schedule '0s:rate=50/s; 15s:rate=200/s; 30s:rate=25/s' --retry-after "
      "date\n"
      "  headway mock --style openai --requests 500/min --tokens 90000/min\n"
      "  headway mock --style emr --limit rate=4/s,burst=4 --latency 100ms --others 10/s\n\n"
      "A TIME is 250us, 50ms, 2s, 1.5min or 1h; N/PER is a count per time, such as 50/s or "
      "10/250ms.\n"
      "Each request gets 200 and a small JSON body, unless a limit refuses it.\n");
  sub->option_defaults()->always_capture_default();
  auto const option = [sub](char const* name, auto& value, char const* type, char const* what) {
    return sub->add_option(name, value, what)->type_name(type);
  };
  option("--listen", w->listen, "ADDRESS:PORT", "Listen here; port 0 is any free one");
  option(
      "--limit", w->limits, "LIMIT",
      "Limit requests, as in a scenario: rate=N/PER[,burst=N], concurrent=N[,error-holds=TIME],\n"
      "window=N/PER[,aligned], sliding=N/PER[,counts-rejects], "
      "counter=N/PER[,counts-rejects][,aligned],\n"
      "queue=N[,waiting=N],\n"
      "shared=N[,at-work=N][,patience=TIME][,drops] (N processors, which all requests at work\n"
      "share evenly; later than patience the answer is a gateway's 504),\n"
      "ban=N/TIME[,for=TIME][,prolonged], table=N/PER[,fastest=N/PER] (capacity grows under "
      "load),\n"
      "slope=SHARE/TIME[,from=N/PER] (the rate may rise only so fast) or outage[,shows=SYMPTOM];\n"
      "repeatable: all must admit, the first that does not refuses. burst is 1 unless given;\n"
      "error-holds: a refusal takes a slot that long; aligned: windows begin at whole periods\n"
      "since the start, not with a request; counts-rejects: a refused request counts, so a\n"
      "client that hammers never gets in")
      ->allow_extra_args(false)
      ->default_str("");
  option(
      "--style", w->style, "STYLE",
      "Answer as plain, or as openai: each POST is a request for a completion, answered with its\n"
      "usage and x-ratelimit-* headers; a refusal is OpenAI's; or as emr: each POST is a\n"
      "DescribeCluster of Amazon EMR, and a refusal its ThrottlingException")
      ->check(CLI::IsMember({"plain", "openai", "emr"}));
  option("--others", w->others, "N/PER",
         "Let others send so many requests, evenly, that the limits count and that no log shows")
      ->default_str("");
  option(
      "--requests", w->requests, "N/PER[,burst=N]",
      "Limit requests of --style openai, as 500/min; refilled continuously, at most burst at once\n"
      "(N unless given)")
      ->default_str("");
  option("--tokens", w->tokens, "N/PER[,burst=N]",
         "Limit tokens of --style openai, as 90000/min; a request is charged a quarter of its\n"
         "bytes and its max_tokens (256 unless given) when it arrives")
      ->default_str("");
  option("--schedule", w->schedule, "TIME:LIMIT;...",
         "Add a limit that changes: from TIME after the start on it is LIMIT\n"
         "(or: unlimited, as before the first TIME)");
  option("--latency", w->latency, "TIME[..TIME]",
         "Take this long for an accepted request, uniform if a range; it holds its slot that long");
  option("--connect-latency", w->connect_latency, "TIME[..TIME]",
         "Wait this long before the limits see a request");
  option("--error-latency", w->error_latency, "TIME",
         "Wait this long before a throttled request is answered");
  option("--throttle-status", w->throttle_status, "STATUS",
         "Answer throttled requests with this status; 429 unless given, 400 for --style emr")
      ->default_str("");
  option("--retry-after", w->retry_after, "FORM",
         "Tell a throttled request when the limits would admit it if nothing else came, rounded\n"
         "up, as seconds or date (Retry-After) or ms (retry-after-ms); or none");
  option("--failures", w->failures, "SHARE",
         "Answer this share of accepted requests with 500, such as 1%");
  option(
      "--log", w->log, "FILE",
      "Write a line for each request answered (- is stdout): arrival in seconds since the start,\n"
      "method, target, status, in flight at arrival (itself included), milliseconds taken;\n"
      "with --style openai also the tokens that it was charged");
  sub->callback([w, &chosen] { chosen = [w] { return mock(*w); }; });
}

}  // namespace headway::app
