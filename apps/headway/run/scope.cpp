#include "run/scope.hpp"

namespace headway::app {

void scope::queue(time_point now, ticket id, std::uint32_t index) {
  auto const slot = static_cast<std::uint32_t>(id);
  if (slot >= by_ticket.size()) by_ticket.resize(slot + 1);
  by_ticket[slot] = index;
  wake = now;
}

void scope::look_at_machine(time_point now) {
  if (!machine) return;
  machine->refresh(now, in_flight(), waiting() > 0);
  governor.hold(machine->held_until());
}

}  // namespace headway::app
