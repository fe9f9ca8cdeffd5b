/// `headway replay`: its options, and what it says.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/fatal.hpp"
#include "command.hpp"
#include "pacing/laws.hpp"
#include "whatif/replay.hpp"
#include "whatif/what_if.hpp"

namespace headway::app {
namespace {

int show_replay(std::string const& path) {
  auto const r = replay(path);
  if (auto const& d = r.first_difference) {
    fmt::print("{}:{}: the first difference, after {} decisions that were the same\n", path,
               d->line, r.decisions);
    fmt::print("  recorded: {}\n  replayed: {}\n", d->recorded, d->replayed);
    return exit_failed;
  }
  fmt::print("{} decisions replayed, all the same\n", r.decisions);
  if (!r.ended) fmt::print("the trace stops before its run ended\n");
  return exit_ok;
}

int show_what_if(std::string const& path, std::string const& law) {
  auto const r = what_if(path, law);
  fmt::print("The same requests, and the n-th attempt answered as the recorded n-th was.\n\n");
  auto const row = [](auto const& what, auto const& recorded, auto const& other) {
    fmt::print("{:<22}{:>16}{:>16}\n", what, recorded, other);
  };
  auto const& a = r.recorded;
  auto const& b = r.other;
  row("", r.law + " (ran)", law);
  row("requests ended", a.requests, b.requests);
  row("attempts", a.attempts, b.attempts);
  row("  of them throttled", a.throttled, b.throttled);
  row("last send", fmt::format("{:.3f} s", to_seconds(a.last)),
      fmt::format("{:.3f} s", to_seconds(b.last)));
  row("mean rate", fmt::format("{:.1f}/s", a.rate), fmt::format("{:.1f}/s", b.rate));
  row("most in one second", a.peak, b.peak);
  row("peak in flight", a.in_flight_max, b.in_flight_max);
  row("sent ahead", "", r.ahead);
  row("  by at most", "", fmt::format("{:.3f} s", to_seconds(r.ahead_max)));
  if (r.unanswered > 0)
    fmt::print("{} requests were left: parked, or the trace has no answer for another attempt\n",
               r.unanswered);
  fmt::print(
      "\nThis is when {} would have sent, given these answers. It is no forecast: the server\n"
      "does not react, and what is sent ahead of the recorded attempt might have been throttled.\n"
      "headway simulate has servers that react.\n",
      law);
  return exit_ok;
}

}  // namespace

void add_replay(CLI::App& program, action& chosen) {
  auto* const replay = program.add_subcommand(
      "replay",
      "Repeats the decisions of a recorded run and compares them, bit for bit.\n\n"
      "  headway run jobs.txt --trace run.trace && headway replay run.trace\n"
      "  headway replay run.trace --law reno\n\n"
      "--law answers one question: when would this law have sent, given these answers?\n"
      "The n-th attempt gets the answer and the latency of the recorded n-th. The server does not\n"
      "react, so it is no forecast: attempts that go earlier than the recorded ones (sent ahead)\n"
      "might have been throttled.\n"
      "Exit codes: 0 all the same, 1 a decision differs, 2 not a trace.");
  struct arguments {
    std::string path, law;
  };
  auto const a = std::make_shared<arguments>();
  replay->add_option("TRACE", a->path, "File that headway run --trace wrote")->required();
  auto* const law = replay->add_option("--law", a->law,
                                       "Let another law decide, of those that headway simulate "
                                       "--list names, as reno or aws-adaptive");
  offered()[law] = laws_of_what_if;
  replay->callback([a, &chosen] {
    chosen = [a] { return a->law.empty() ? show_replay(a->path) : show_what_if(a->path, a->law); };
  });
}

}  // namespace headway::app
