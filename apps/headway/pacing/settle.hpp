/// What an answer teaches a governor.
#pragma once

#include "headway/governor.hpp"
#include "pacing/quota_book.hpp"
#include "provider/judgement.hpp"

namespace headway::app {

/// Returns what to tell the governor of a judged answer, as far as the quotas are not kept in
/// `book`. `status`: of the answer, 0 if it has none. A quota of hours or days asks for more than
/// `wait_max`. `hosted`: other hosts share the limit, whose fleet counts requests for all.
attempt_result lesson_of(judgement const&, int status, quota_book const& book, duration wait_max,
                         bool hosted);

}  // namespace headway::app
