#include "run/scope.hpp"

#include <algorithm>
#include <utility>

namespace headway::app {

void scope::queue(time_point now, ticket id, std::uint32_t index) {
  auto const slot = static_cast<std::uint32_t>(id);
  if (slot >= by_ticket.size()) by_ticket.resize(slot + 1);
  by_ticket[slot] = index;
  wake = now;
}

void scope::look_at_machine(time_point now, bool may_send) {
  if (machine) look_at(*machine, governor, now, held.why != reason::none || !may_send);
}

std::optional<scope::turn> scope::next(time_point now, requests& all, rng& chance) {
  if (auto const until = trouble.ready_at(in_flight()); until > now && waiting() > 0) {
    held = {reason::backoff, until};
    return std::nullopt;
  }
  while (auto const first = governor.next(now)) {
    auto const index = by_ticket[static_cast<std::uint32_t>(*first)];
    auto& r = all[index];
    if (r.needs_turn_at_home()) {
      governor.cancel(now, *first);
      return turn{.request = index, .elsewhere = true};
    }
    // What a send costs of the quotas is charged where its answer comes from.
    auto const at_home = static_cast<bool>(r.bound_for);
    if (auto why = book.never_fits(r.size); why && !at_home) {
      governor.cancel(now, *first);
      return turn{.request = index, .never = std::move(*why)};
    }
    if (auto const until = book.ready_at(now, r.size).until; !at_home && until > now) {
      held = {reason::quota, until};
      r.held = true;
      return std::nullopt;
    }
    auto const u = chance();
    if (machine && !machine->claim(now, r.what.cost, u)) {  // another process was faster
      look_at_machine(now);
      continue;
    }
    governor.start(now, *first, u);
    if (at_home) {  // the turn is taken; there is no answer to learn from
      governor.cancel(now, *first);
      return turn{.request = index, .elsewhere = true};
    }
    r.receipt = book.take(now, r.size);
    return turn{.request = index};
  }
  return std::nullopt;
}

void scope::rest(time_point now, duration wait_max) {
  if (held.why != reason::none) {  // an answer wakes it, too
    wake = held.until;
    if (held.why == reason::quota && held.until != never && held.until - now > wait_max)
      parked_until = held.until;
    return;
  }
  wake = governor.wakeup(now);
  if (!machine || waiting() == 0) return;
  wake = std::min(wake, machine->look_again(now));
  auto const told = machine->held_until();  // perhaps it was another that was told
  if (told > later(now, wait_max)) parked_until = std::max(parked_until, told);
}

void scope::cancel(time_point now, request& r) {
  governor.cancel(now, r.id);
  book.forget(r.receipt);
}

}  // namespace headway::app
