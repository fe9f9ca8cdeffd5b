/// A lesson: what an answer teaches.
#pragma once

#include <optional>
#include <string>

#include "client/transport.hpp"
#include "headway/governor.hpp"
#include "pacing/scope.hpp"
#include "provider/profile.hpp"
#include "run/options.hpp"
#include "run/request.hpp"

namespace headway::app {

/// What the profile of the request's scope makes of its answer. No answer at all, and one that
/// broke off, is transient.
judgement judge(request const&, reply const&);

/// The answers to all parts of a request as one body, where earlier ones left something of it
/// undone and this one is good; nullopt where it stands for itself.
std::optional<std::string> joined_body(request const&, reply const&);

/// `last`, the judgement of the last part, once `whole` is the answer to all of them: an earlier
/// part may have failed.
judgement judge_whole(request const&, reply const& whole, judgement last);

/// Settles with the quota book of the request's scope; what its governor learns, which is what the
/// book does not take care of.
attempt_result learn(time_point now, request&, judgement const&, reply const&, run_options const&);

}  // namespace headway::app
