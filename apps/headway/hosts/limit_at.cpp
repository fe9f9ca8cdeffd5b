#include "hosts/limit_at.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <array>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <utility>
#include <variant>

#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "headway/law/seek.hpp"
#ifdef HEADWAY_FLEET
#include "headway/postgres/board.hpp"
#include "headway/postgres/error.hpp"
#endif

namespace headway::app {

void add_limit_at(CLI::App& app, std::string& url) {
  if (offers_limit_at()) app.add_option("--limit-at", url, limit_at_help);
}

limit_at checked_limit_at(std::string const& url, beside_limit const& beside) {
  auto const* const environment = std::getenv("HEADWAY_FLEET");
  limit_at at{url, !url.empty()};
  if (!at && environment != nullptr && !beside.alone) at.url = environment;
  if (!at) return at;
  if (beside.alone)
    throw fatal(exit_usage, "--alone shares no pace, --limit-at shares it with other hosts");
  if (beside.traced)
    throw fatal(exit_usage, fmt::format("--trace: the decisions of many hosts cannot be replayed; "
                                        "leave it out, or {}",
                                        at.from_arguments ? "--limit-at" : "unset HEADWAY_FLEET"));
  if (beside.law != nullptr && !std::holds_alternative<seek>(beside.law->law.choice))
    throw fatal(exit_usage, fmt::format("--law {}: {} shares the default law only",
                                        beside.law->name, at.said_by()));
  return at;
}

#ifdef HEADWAY_FLEET

namespace {

constexpr duration tries_again = 1s;

/// Ends the program where a signal asks for that, which perhaps waits for its loop.
void obey_signals() {
  sigset_t pending;
  sigpending(&pending);
  for (int const signal : {SIGINT, SIGTERM, SIGHUP})
    if (sigismember(&pending, signal) == 1)
      throw fatal(128 + signal, "interrupted while it waited for the database");
}

std::string name_of_host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return fmt::format("{}:{}", printable(name.data()), getpid());
}

}  // namespace

bool offers_limit_at() noexcept {
  return true;
}

std::shared_ptr<fleet_link> join_fleet(limit_at const& at, duration patience) {
  if (!at) return nullptr;
  using postgres::failure;
  auto const wrong = [&](postgres::error const& e) {
    return fatal(exit_usage, fmt::format("{}: {}", at.said_by(), e.what()));
  };
  auto const began = clock_now();
  for (bool said = false;; std::this_thread::sleep_for(tries_again)) try {
      postgres::endpoint const where(
          at.url, at.from_arguments ? postgres::source::arguments : postgres::source::environment);
      auto link = std::make_shared<fleet_link>(where.name(), [&](std::function<void()> news) {
        return std::make_unique<postgres::board>(
            where,
            postgres::board::settings{
                .name = name_of_host(), .version = HEADWAY_VERSION, .news = std::move(news)});
      });
      if (!where.warning().empty()) say(fmt::format("{}: {}", where.name(), where.warning()));
      return link;
    } catch (postgres::error const& e) {
      if (e.kind == failure::usage || e.kind == failure::refused) throw wrong(e);
      if (clock_now() - began >= patience)
        throw fatal(exit_parked, fmt::format("{}: {}; run the same command again later",
                                             at.said_by(), e.what()));
      obey_signals();
      if (!std::exchange(said, true))
        say(fmt::format("{}: {}; it is tried again for {}", at.said_by(), e.what(),
                        in_words(patience)));
    }
}

#else

bool offers_limit_at() noexcept {
  return false;
}

std::shared_ptr<fleet_link> join_fleet(limit_at const& at, duration) {
  if (at)
    throw fatal(
        exit_usage,
        fmt::format("{}: this headway was built without libpq (Debian: libpq-dev)", at.said_by()));
  return nullptr;
}

#endif

}  // namespace headway::app
