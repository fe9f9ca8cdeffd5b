// expect: from 'int'
#include "headway/governor.hpp"

#ifdef CONTROL
headway::governor_settings const settings{.hint_max = std::chrono::seconds(30)};
#else
headway::governor_settings const settings{.hint_max = 30};
#endif
