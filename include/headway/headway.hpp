/// The whole core.
///
///   headway::default_governor governor;     // the default law: nothing to configure
///   governor.submit(now);                   // a request; refused with a reason when many wait
///   while (auto turn = governor.next(now))  // the request that may go now, if any
///     governor.start(now, *turn, draw());   // send it; then, when its answer comes:
///   governor.finish(now, ticket, {outcome}, draw());
///   wait_until(governor.wakeup(now));
#pragma once

#include "headway/backoff/any.hpp"
#include "headway/export.hpp"
#include "headway/governor.hpp"
#include "headway/keyed.hpp"
#include "headway/law/any.hpp"
#include "headway/law/shipped.hpp"
#include "headway/observing.hpp"

/// The library: the core and its drivers.
namespace headway {

using default_governor = governor<full_jitter, seek>;            ///< the default law
using any_governor = governor<any_backoff, any_law>;             ///< policies chosen at run time
using default_observer = observing_governor<full_jitter, seek>;  ///< one that delays nothing

extern template class HEADWAY_EXPORT governor<full_jitter, seek>;
extern template class HEADWAY_EXPORT governor<any_backoff, any_law>;

}  // namespace headway
