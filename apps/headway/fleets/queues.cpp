#include "fleets/queues.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <optional>
#include <thread>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "queue/collect.hpp"

namespace headway::app {
namespace {

using namespace std::chrono_literals;
using what = enum to_collect::what;

std::string grouped(std::int64_t number) {
  auto text = std::to_string(number);
  for (auto at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

queue_facts found(queue_engine& engine, std::string const& name) {
  if (auto facts = engine.find(name)) return *facts;
  std::vector<std::string> names;
  for (auto const& s : status_of(engine)) names.push_back(printable(s.facts.name));
  throw fatal(exit_usage,
              fmt::format("{}: there is no queue {}; {}", engine.name(), in_quotes(name),
                          names.empty() ? "there is none at all"
                                        : fmt::format("there are: {}", fmt::join(names, ", "))));
}

/// How much of it is still to come, and why.
std::string what_is_open(queue_status const& s) {
  auto const& name = s.facts.name;
  auto const why = !s.facts.sealed ? not_uploaded(s.facts)
                   : s.facts.stopped
                       ? fmt::format("it is stopped: `headway fleet resume {}` lets it go on", name)
                   : s.in_hand > 0
                       ? fmt::format("hosts have {} in hand", grouped(s.in_hand))
                       : fmt::format("no host works on it: `headway run --join {}` does", name);
  return fmt::format(
      "queue {}: {} of {} requests are open, in {} of {} blocks; {}; the same again later, or "
      "--follow, has the rest",
      name, grouped(s.open()), grouped(s.facts.requests), grouped(s.blocks - s.ended),
      grouped(s.blocks), why);
}

/// Takes block after block of `next`, until there is no more to take; says why.
template <class Next>
int take(queue_engine& engine, queue_facts const& facts, bool follow, Next next) {
  for (;;) {
    to_collect const took = next();
    switch (took.what) {
      case what::block:
        break;
      case what::ended:
        return exit_ok;
      case what::parked:
        say(took.why);
        return exit_parked;
      case what::gone:
        say(fmt::format("queue {} was dropped", facts.name));
        return exit_parked;
      case what::wait:
        if (!follow) {
          for (auto const& s : status_of(engine, facts.name)) say(what_is_open(s));
          return exit_parked;
        }
        std::this_thread::sleep_for(500ms);
    }
  }
}

int results(queue_engine& engine, queue_command const& c) {
  auto const facts = found(engine, c.queue);
  if (c.out.empty()) {
    queue_printer to(engine, facts);
    return take(engine, facts, c.follow, [&] { return to.next(); });
  }
  collector to(engine, facts, c.out + ".headway", c.out, durability::power);
  auto const code = take(engine, facts, c.follow, [&] { return to.next(); });
  to.close();
  return code;
}

int drop(queue_engine& engine, queue_command const& c) {
  found(engine, c.queue);
  for (auto const& s : status_of(engine, c.queue))
    if (s.done() > 0 && (s.waiting > 0 || !s.all_ended()) && !c.force)
      throw fatal(exit_usage,
                  fmt::format("queue {} has results that are not collected; `headway fleet results "
                              "{} --out FILE` does, --force drops them",
                              c.queue, c.queue));
  drop_queue(engine, c.queue);
  say(fmt::format("queue {} is dropped", c.queue));
  return exit_ok;
}

}  // namespace

int act_on_queue(postgres::endpoint const& where, queue_command const& c) {
  bool said = false;
  queue_engine engine(where, [&](std::string const& why) {
    if (!c.follow) return false;
    if (!said) say(why + "; trying again");
    said = true;
    std::this_thread::sleep_for(500ms);
    return true;
  });
  if (c.what == "results") return results(engine, c);
  if (c.what == "drop") return drop(engine, c);
  found(engine, c.queue);
  if (c.what == "stop") {
    stop_queue(engine, c.queue);
    say(
        fmt::format("queue {} is stopped: its workers end what they have sent; `headway fleet "
                    "resume {}` lets it go on",
                    c.queue, c.queue));
  } else {
    resume_queue(engine, c.queue);
    say(fmt::format("queue {} goes on", c.queue));
  }
  return exit_ok;
}

std::vector<std::string> in_words(queue_status const& s) {
  auto const part = not_uploaded(s.facts);
  auto const state =
      (part.empty() ? "" : ", " + part) + (s.facts.stopped ? std::string(", stopped") : "");
  auto const parked =
      s.parked == 0 ? "" : fmt::format(", {} blocks parked ({})", grouped(s.parked), s.parked_why);
  auto const waiting = s.waiting == 0
                           ? ""
                           : fmt::format(", {} wait ({:.1f} MiB)", grouped(s.waiting),
                                         static_cast<double>(s.waiting_bytes) / (1 << 20));
  return {fmt::format("{} of {} done, {} failed, {} unknown, {} in hand{}{}", grouped(s.done()),
                      grouped(s.facts.requests), grouped(s.failed), grouped(s.unknown),
                      grouped(s.in_hand), state, parked),
          fmt::format("{} of {} blocks ended, {} taken over{}", grouped(s.ended), grouped(s.blocks),
                      grouped(s.taken_over), waiting)};
}

}  // namespace headway::app
