#include "headway/driver/shared_governor.hpp"

namespace headway::blocking {

template class shared_governor<default_governor>;

}  // namespace headway::blocking
