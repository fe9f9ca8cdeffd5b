// expect: deleted
#include "headway/random.hpp"

headway::rng twin(headway::rng& chance) {
#ifdef CONTROL
  return chance.split();
#else
  return chance;
#endif
}
