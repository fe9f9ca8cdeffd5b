#include <headway/sim/simulation.hpp>

bool sim_parts() {
  auto const* law = headway::sim::contender_named("seek");
  headway::sim::scenario const world{.groups = {{.work = headway::sim::batch{.requests = 20}}}};
  return law && headway::sim::simulate(world, *law).done == 20;
}
