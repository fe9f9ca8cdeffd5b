#include "whatif/replay.hpp"

#include <fmt/format.h>

#include <memory>
#include <unordered_map>
#include <utility>

#include "headway/shared/paged_pace.hpp"
#include "pacing/laws.hpp"
#include "pacing/trace.hpp"
#include "whatif/trace_reader.hpp"

namespace headway::app {
namespace {

std::string whose_turn(traced_governor const& g, time_point now, time_point began) {
  if (auto const turn = g.next(now))
    return fmt::format("it is the turn of ticket {}", static_cast<std::uint64_t>(*turn));
  auto const held = g.why(now);
  if (held.why == reason::none) return "none waits";
  if (held.until == never) return fmt::format("no turn: {}", to_string(held.why));
  return fmt::format("no turn: {} until {}", to_string(held.why), (held.until - began).count());
}

/// The pace that a scope shared, from what its page answered.
shared_pace shared_as(traced_call const& call, any_law const& begins,
                      governor_settings const& settings) {
  if (call.seat < 0) return {};
  auto tape = std::make_shared<page_tape>();
  tape->play(call.page);
  auto page = std::make_unique<replayed_page>(call.seat, tape);
  return {std::make_shared<paged_pace>(std::move(page), begins, settings.hint_max), call.seat,
          tape};
}

}  // namespace

// The replayed call writes its line as the run's did; the two texts must be the same.
replayed replay(std::string const& path) {
  trace_reader reader(path);
  trace again;
  std::unordered_map<int, traced_governor> scopes;
  replayed result;
  auto const same = [&] {
    auto text = again.lines();
    text.remove_suffix(text.empty() ? 0 : 1);
    if (text == reader.text()) return true;
    result.first_difference = {reader.line(), std::string(reader.text()), std::string(text)};
    return false;
  };

  auto const& head = reader.head();
  again.head(head);
  if (!same()) return result;
  while (auto const call = reader.next()) {
    again.clear();
    using kind = traced_call::kind;
    if (call->what == kind::scope) {
      auto const& law = head.law;
      auto const begins = call->memory ? with_memory(law, *call->memory).law : law.law;
      scopes.try_emplace(call->scope, &again, call->scope, call->name, law, head.settings,
                         call->memory, shared_as(*call, begins, head.settings));
      if (!same()) return result;
      continue;
    }
    if (!call->decides()) {
      if (call->what == kind::ctl)
        again.ctl(call->at, call->words);
      else if (call->what == kind::cost)
        again.cost(call->scope, call->at, call->name, call->expected, call->told);
      else
        again.held(call->scope, call->at, call->why);
      if (!same()) return result;
      continue;
    }
    auto& g = scopes.at(call->scope);
    if (g.tape()) g.tape()->play(call->page);
    switch (call->what) {
      case kind::scope:
      case kind::ctl:
      case kind::cost:
      case kind::held:
        break;
      case kind::submit:
        g.submit(call->at, call->terms);
        break;
      case kind::start:
        if (g.next(call->at) != call->id) {
          result.first_difference = {reader.line(), std::string(reader.text()),
                                     whose_turn(g, call->at, head.began)};
          return result;
        }
        g.start(call->at, call->id, call->u, call->quota_until);
        break;
      case kind::learn:
        g.learn(call->at, call->id, call->result, call->u);
        break;
      case kind::finish:
        g.finish(call->at, call->id, call->result, call->u);
        break;
      case kind::cancel:
        g.cancel(call->at, call->id);
        break;
      case kind::wakeup:
        g.wakeup(call->at);
        break;
      case kind::look:
        g.look(call->at, call->held_elsewhere);
        break;
      case kind::claim:
        g.claim(call->at, call->terms.cost, call->u);
        break;
      case kind::limit:
        g.limit(call->at, call->rate, call->in_flight_max);
        break;
      case kind::leave: {
        auto law = g.law_state();
        leave(law, call->share);
        g.leave(call->at, call->share, shared_as(*call, law, head.settings));
        break;
      }
      case kind::end:
        g.end();
        scopes.erase(call->scope);
        break;
    }
    if (!same()) return result;
    ++result.decisions;
  }
  result.ended = scopes.empty();
  return result;
}

}  // namespace headway::app
