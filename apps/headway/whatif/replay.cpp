#include "whatif/replay.hpp"

#include <fmt/format.h>

#include <unordered_map>

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

}  // namespace

// The replayed call writes its line as the run's did; the two texts must be the same.
replayed replay(std::string const& path) {
  trace_reader reader(path);
  trace again;
  std::unordered_map<int, traced_governor> scopes;
  replayed result;
  auto const same = [&] {
    auto text = again.lines();
    text.remove_suffix(1);
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
      scopes.try_emplace(call->scope, &again, call->scope, call->name, head.law, head.settings,
                         call->memory);
      if (!same()) return result;
      continue;
    }
    auto& g = scopes.at(call->scope);
    switch (call->what) {
      case kind::scope:
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
      case kind::finish:
        g.finish(call->at, call->id, call->result, call->u);
        break;
      case kind::cancel:
        g.cancel(call->at, call->id);
        break;
      case kind::wakeup:
        g.wakeup(call->at);
        break;
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
