/// Judging: from an answer and a profile's rules to a judgement.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "provider/rules.hpp"

namespace headway::app {

/// Returns what to make of an answer to a request with this body. Never throws, whatever the server
/// sent; looks at the first MiB of a body, and at all of one that may be a partial success.
judgement judge(profile_rules const&, answer_view const&, std::string_view request_body,
                std::chrono::sys_seconds now);

/// Returns what the head of an answer says by itself, before its body has come: a success that no
/// rule looks into. Of a stream of events the first event must be in `body`, too. nullopt: the rest
/// may say otherwise.
std::optional<judgement> judge_head(profile_rules const&, answer_view const&,
                                    std::chrono::sys_seconds now);

}  // namespace headway::app
