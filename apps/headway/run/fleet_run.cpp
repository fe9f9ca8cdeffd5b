#include "run/fleet_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <simdjson.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "headway/driver/entropy.hpp"
#include "jobs/line_cutter.hpp"
#include "journal/failed_lines.hpp"
#include "journal/input_order.hpp"
#include "queue/upload.hpp"
#include "run/shared_options.hpp"
#include "run/table.hpp"

namespace headway::app {
namespace {

constexpr duration asks_every = 500ms;

postgres::endpoint endpoint_of(queue_options const& q) {
  try {
    return postgres::endpoint(
        q.url, q.from_arguments ? postgres::source::arguments : postgres::source::environment);
  } catch (postgres::error const& e) {
    throw fatal(exit_usage, fmt::format("{}: {}", q.from_arguments ? "--fleet" : "HEADWAY_FLEET",
                                        printable(e.what())));
  }
}

/// What a command for the same fleet has to say of it.
std::string fleet_option(run_options const& o) {
  return o.queue.from_arguments ? fmt::format(" --fleet '{}'", printable(o.queue.url)) : "";
}

/// The lines of JOBS that say how others are read: see jobs_part.
std::string preface_of(run_options const& o, steady_file& jobs, record_lines const& records) {
  if (!o.body && o.url.find("{{") == o.url.npos) return {};
  std::string text;
  line_cutter lines;
  for (std::size_t block = 0;; ++block) {
    auto const bytes = jobs.block(block);
    lines.feed(bytes);
    if (bytes.empty()) lines.finish();
    while (auto const line = lines.next()) {
      (text += *line) += '\n';
      auto const said =
          records.header_end > 0 ? lines.count() == records.header_end : !trimmed(*line).empty();
      if (said) return text;
    }
    if (bytes.empty()) return text;
  }
}

/// The lines whose last result is no success.
std::vector<bool> lost_lines(file const& results) {
  std::vector<bool> lost;
  simdjson::dom::parser parser;
  each_last_result(results, [&](std::int64_t line, std::string_view result) {
    std::string_view how;
    if (parser.parse(simdjson::padded_string(result))["outcome"].get(how) != simdjson::SUCCESS ||
        how == "success")
      return;
    lost.resize(static_cast<std::size_t>(line) + 1);
    lost.back() = true;
  });
  return lost;
}

}  // namespace

fleet_run::fleet_run(run_options& o, std::vector<std::string> headers,
                     std::function<bool()> interrupted)
    : options_(o),
      interrupted_(std::move(interrupted)),
      chance_(entropy()),
      engine_(
          endpoint_of(o.queue), [this](std::string const& why) { return wait(why); }, {},
          stop_.get_token()) {
  auto const joins = !o.queue.join.empty();
  auto all = expand_headers(o.headers);
  all.insert(all.end(), headers.begin(), headers.end());
  auto const has_secrets = !all.empty() || !o.http.sigv4.empty();
  if (joins && has_secrets && o.header_hosts.empty())
    throw fatal(exit_usage,
                "--join with headers needs --header-for HOST: the lines of a queue say where "
                "requests go, and they come from a database");
  auto const facts = joins ? join(o.queue.join) : start(o, headers, has_secrets);
  waits_since_.reset();
  if (!joins && !o.quiet)
    say(fmt::format("on other hosts{}: headway run --join {}{}{}",
                    o.queue.from_arguments ? "" : ", with HEADWAY_FLEET", facts.name,
                    fleet_option(o), has_secrets ? " --header-for HOST -H …" : ""));
  if (!o.again.empty()) reopen(facts, o.again);
  if (!joins && facts.options != own_text_)
    say(fmt::format("queue {} was uploaded with other options; those hold", facts.name));
  auto lines = adopt(o, facts.options);
  lines.options.file = facts.name;
  if (joins) o.jobs = facts.name;
  std::unique_ptr<collector> collects;
  if (o.queue.collects)
    collects = std::make_unique<collector>(engine_, facts, o.out + ".headway", o.out, o.level);
  unused_ = std::make_unique<fleet_ledger>(
      engine_, facts,
      fleet_ledger::settings{
          .lease = std::chrono::duration_cast<std::chrono::milliseconds>(o.queue.lease),
          .patience = o.wait_max,
          .stop = stop_},
      std::move(collects));
  ledger_ = unused_.get();
  auto const bound =
      file_ ? file_->headers() : bound_headers(std::move(all), over_tls(o.header_hosts), "");
  std::function<bool(std::string_view)> works_for;
  if (has_secrets && joins)
    works_for = [bound](std::string_view origin) { return bound.go_to(origin); };
  if (has_secrets && !joins)
    works_for = [this](std::string_view origin) { return origins_.contains(std::string(origin)); };
  source_ = std::make_unique<fleet_source>(*ledger_, std::move(lines.options),
                                           std::move(lines.preface), bound, std::move(works_for));
}

/// Uploads JOBS, once all of it has been checked.
queue_facts fleet_run::start(run_options const& o, std::vector<std::string> const& headers,
                             bool has_secrets) {
  upload_plan plan;
  std::int64_t requests = 0;
  plan.name = queue_name_of(o.jobs);
  plan.jobs = o.jobs;
  plan.spend_max = o.spend_max;
  if (!is_queue_name(plan.name))
    throw fatal(exit_usage,
                fmt::format("{}: the name of a queue is that of its file: want letters, "
                            "digits, . _ and -",
                            in_quotes(o.jobs)));
  file_ = std::make_unique<intake>(o, headers, [&](job const& j) {
    if (without_credentials(j.headers).size() < j.headers.size())
      throw fatal(exit_usage,
                  fmt::format("{}:{}: a credential among its headers would go to the database; "
                              "give it with --header",
                              o.jobs, j.line));
    plan.requests.resize(static_cast<std::size_t>(j.line) + 1);
    plan.requests.back() = true;
    if (has_secrets) origins_.insert(j.origin);
    if (o.only > 0 && ++requests == o.only + 1) plan.lines = j.line - 1;
  });
  auto const& survey = file_->survey();
  plan.goes_on = survey.records.goes_on;
  auto const preface = preface_of(o, file_->input(), survey.records);
  own_text_ = shared_text(o, preface);
  plan.options = own_text_;
  plan.shape = fingerprint(lines_of(o));
  if (preface.empty()) plan.folder = std::filesystem::path(o.jobs).parent_path();
  plan.progress = [&](std::int64_t there, std::int64_t of) {
    waits_since_.reset();
    if (interrupted_())
      throw fatal(exit_parked,
                  fmt::format("interrupted, and {} of {} lines are uploaded: run the same command "
                              "again to go on",
                              there, of));
  };
  return upload(engine_, file_->input(), plan);
}

queue_facts fleet_run::join(std::string const& name) {
  for (std::int64_t uploaded = 0;;) {
    auto found = engine_.find(name);
    if (found && std::exchange(uploaded, found->uploaded) < found->uploaded) waits_since_.reset();
    if (found && found->sealed) return std::move(*found);
    auto const why =
        found ? fmt::format("queue {} is being uploaded, {} of {} lines are there", name,
                            found->uploaded, found->lines)
              : fmt::format(
                    "there is no queue {} at {} yet; `headway run JOBS --fleet URL` makes "
                    "one",
                    name, engine_.name());
    if (!wait(why)) throw fatal(exit_parked, why);
  }
}

void fleet_run::reopen(queue_facts const& facts, std::vector<final_outcome> const& again) {
  auto const opened = reopen_queue(engine_, facts, again);
  if (!opened)
    throw fatal(exit_parked,
                fmt::format("--again: workers hold lines of queue {0}; `headway fleet stop {0}`, "
                            "and then `headway fleet resume {0}`",
                            facts.name));
  if (*opened > 0) say(fmt::format("{} lines are open again", *opened));
}

/// What is waited for is not there; returns, after a pause, whether it is still waited for.
bool fleet_run::wait(std::string const& why) {
  if (ledger_ != nullptr) return ledger_->wait_for_engine(why);
  if (!waits_since_) waits_since_ = clock_now();
  if (std::exchange(said_, why) != why)
    say(fmt::format("waits for {} at most (--wait-max): {}", in_words(options_.wait_max), why));
  auto const pause = asks_every / 2 + scale(asks_every, chance_());  // not all hosts at once
  for (auto const end = clock_now() + pause; clock_now() < end;) {
    if (interrupted_()) throw fatal(exit_parked, "interrupted: " + why);
    std::this_thread::sleep_for(50ms);
  }
  return clock_now() < later(*waits_since_, options_.wait_max);
}

void fleet_run::allow(quota_units most) {
  ledger_->allow(std::move(most));
}

void fleet_run::stop_all() {
  if (file_) ledger_->stop_all();
}

std::string fleet_run::words() const {
  auto const s = ledger_->status().all;
  auto text = fmt::format("queue {}: {} of {} requests ended, {} succeeded, {} failed, {} unknown",
                          s.facts.name, s.done(), s.facts.requests, s.success, s.failed, s.unknown);
  if (s.taken_over > 0) text += fmt::format("; {} blocks were taken over", s.taken_over);
  if (s.parked > 0) text += fmt::format("; {} blocks are parked", s.parked);
  if (auto const part = not_uploaded(s.facts); !part.empty())
    text += fmt::format("; {}: the run that uploads goes on without --only", part);
  text += '\n';
  if (s.waiting > 0 && !options_.queue.collects)
    text +=
        fmt::format("results: headway fleet results {}{}\n", s.facts.name, fleet_option(options_));
  return text;
}

std::optional<int> fleet_run::conclude(bool hurried) {
  auto const s = ledger_->status().all;
  if (file_ && options_.queue.collects && !hurried) {
    auto const results = file::open(options_.out, O_RDONLY);
    if (!options_.table.empty()) write_table(file_->jobs(), results, options_);
    if (!options_.failed.empty())
      write_failed_lines(file_->input(), file_->survey().records.whole(lost_lines(results)),
                         options_.failed, options_.level);
  }
  auto const ended = s.parked == 0 || s.all_ended();
  if (options_.queue.collects && s.waiting > 0)
    say(fmt::format("{} blocks have results that are not in {} yet: run the same command again",
                    s.waiting, options_.out));
  if (ended && options_.queue.collects && s.waiting > 0) return exit_parked;
  if (ended) return std::nullopt;
  say(fmt::format("parked: {}; mend it, then `headway fleet resume {}`", s.parked_why,
                  s.facts.name));
  return exit_parked;
}

}  // namespace headway::app
