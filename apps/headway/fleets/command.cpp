/// `headway fleet`: what many hosts share, made, watched and told.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/fatal.hpp"
#include "base/quantity.hpp"
#include "base/words.hpp"
#include "command.hpp"
#include "fleets/queues.hpp"
#include "fleets/status.hpp"
#include "fleets/up.hpp"
#include "headway/postgres/connection.hpp"
#include "headway/postgres/schema.hpp"

namespace headway::app {
namespace {

using namespace std::chrono_literals;

struct arguments {
  std::string what, subject, url, listen = "127.0.0.1:5433", name, out;
  bool sql = false, watches = false, json = false, follow = false, force = false;

  void want(bool is, std::string_view usage) const {
    if (!is) throw fatal(exit_usage, fmt::format("want headway fleet {}", usage));
  }

  postgres::endpoint where() const {
    auto const* const set = std::getenv("HEADWAY_FLEET");
    if (url.empty() && set == nullptr)
      throw fatal(
          exit_usage,
          "want --fleet postgresql://ROLE@HOST[:PORT]/DATABASE, or HEADWAY_FLEET set to it");
    postgres::endpoint at(url.empty() ? set : url, url.empty() ? postgres::source::environment
                                                               : postgres::source::arguments);
    if (!at.warning().empty()) say(at.name() + ": " + at.warning());
    return at;
  }

  int init() const {
    want(subject.empty(), "init [--sql | --fleet URL]");
    if (sql) {
      fmt::print("{}", postgres::schema_sql());
      return exit_ok;
    }
    auto const at = where();
    postgres::connection database(at);
    postgres::ensure_schema(database, at);
    fmt::print("{}: the schema headway1 is there\n", at.name());
    return exit_ok;
  }

  /// Until it is interrupted; a database that goes away meanwhile is waited for.
  int watch(postgres::endpoint const& at) const {
    auto const live = !json && isatty(STDOUT_FILENO) == 1;
    fleet_status before;
    std::string trouble;
    for (std::optional<postgres::connection> database;; std::this_thread::sleep_for(1s)) {
      try {
        if (!database || database->lost()) database.emplace(at);
        auto const now = look(*database);
        if (before.at != std::chrono::steady_clock::time_point{}) show(now, before, live);
        before = now;
        trouble.clear();
      } catch (postgres::error const& e) {
        if (e.kind == postgres::failure::usage || e.kind == postgres::failure::refused) throw;
        if (trouble != e.what()) say(e.what());
        trouble = e.what();
        database.reset();
      }
    }
  }

  void show(fleet_status const& now, fleet_status const& before, bool live) const {
    fmt::print("{}{}", live ? "\x1b[H\x1b[J" : "",
               json ? in_json(now, before) + "\n" : in_lines(now, before));
    if (std::fflush(stdout) != 0) throw unprinted(errno);
  }

  int status() const {
    want(subject.empty(), "status [--watch] [--json] [--fleet URL]");
    auto const at = where();
    if (watches) return watch(at);
    postgres::connection database(at);
    postgres::ensure_schema(database, at);
    auto const before = look(database);
    std::this_thread::sleep_for(500ms);
    show(look(database), before, false);
    return exit_ok;
  }

  int act() const {
    want((!watches && !json) || what == "status", "status [--watch] [--json]");
    want(!sql || what == "init", "init --sql");
    want((out.empty() && !follow) || what == "results", "results NAME [--out FILE] [--follow]");
    want(!force || what == "drop", "drop NAME [--force]");
    try {
      if (what == "up") {
        want(!subject.empty(), "up DIR");
        return up({subject, option_value("listen", listen, address::parse), name});
      }
      if (std::ranges::find(queue_verbs, what) != queue_verbs.end()) {
        want(is_queue_name(subject), what + " NAME: 1 to 64 of A-Z, a-z, 0-9, '.', '_', '-'");
        return act_on_queue(where(), {what, subject, out, follow, force});
      }
      return what == "init" ? init() : status();
    } catch (postgres::error const& e) {
      throw fatal(e.kind == postgres::failure::unavailable ? exit_parked
                  : e.kind == postgres::failure::usage     ? exit_usage
                                                           : exit_io,
                  e.what());
    }
  }
};

}  // namespace

void add_fleet(CLI::App& program, action& chosen) {
  auto* const fleet = program.add_subcommand(
      "fleet",
      "Makes, shows and tells what many hosts share in a PostgreSQL.\n\n"
      "  headway fleet up ./fleet --listen 0.0.0.0:5433\n"
      "  headway fleet init --sql | psql work\n"
      "  headway fleet status --watch\n\n"
      "up runs the installed PostgreSQL in the foreground: private, with TLS and a password, and\n"
      "prints the command that uses it. Any other PostgreSQL from 13 on will do as well.\n\n"
      "  headway fleet results jobs --out jobs.results.jsonl --follow\n"
      "  headway fleet stop jobs\n\n"
      "results of a queue are collected in the order of its lines, each once, and then deleted\n"
      "there; without --out they are printed, and stay. stop parks its workers, resume lets them\n"
      "go on, drop deletes it.\n"
      "Exit codes: 0 done, 2 usage error, 74 the database fails, 75 it does not answer.");
  auto const a = std::make_shared<arguments>();
  fleet->add_option("ACTION", a->what, "up, init, status, results, stop, resume or drop")
      ->required()
      ->check(CLI::IsMember({"up", "init", "status", "results", "stop", "resume", "drop"}));
  fleet->add_option("SUBJECT", a->subject, "Folder of the server, for up; else name of a queue");
  fleet->add_option("--fleet", a->url, "Database as postgresql://role@host/work [HEADWAY_FLEET]");
  fleet->add_option("--listen", a->listen, "Address and port, for up")->capture_default_str();
  fleet->add_option("--name", a->name, "Name of this host for others, for up [its own]");
  fleet->add_option("--out", a->out, "File to collect into, for results");
  fleet->add_flag("--follow", a->follow, "Wait until all are there, for results");
  fleet->add_flag("--force", a->force, "Drop results that are not collected too, for drop");
  fleet->add_flag("--sql", a->sql, "Print the schema for psql and touch nothing, for init");
  fleet->add_flag("--watch", a->watches, "Show it each second until Ctrl-C, for status");
  fleet->add_flag("--json", a->json, "Print one JSON object a line, for status");
  fleet->callback([a, &chosen] { chosen = [a] { return a->act(); }; });
}

}  // namespace headway::app
