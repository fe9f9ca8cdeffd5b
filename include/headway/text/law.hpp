#pragma once

#include <string_view>

#include "headway/export.hpp"
#include "headway/law/shipped.hpp"

namespace headway {

/// Returns the law that a text names, with its settings.
///
///   LAW[(SETTING,…)][+BACKOFF]   "reno", "tahoe(cut=0.9,cwnd=20)+backoff(equal,base=1s)"
///   BACKOFF                      "backoff(full,base=1s,cap=10s)": no pace, each throttled request
///                                backs off by itself; with `never` or `reset=N` all share one
///                                count
///
/// Times are 250us, 50ms, 2s, 15min, 1h; rates 10/s, 300/min. Blanks are ignored. The result's name
/// is the text without them, which reads back to the same law. Errors: std::invalid_argument; its
/// text names the setting and its range, or the known laws.
HEADWAY_EXPORT shipped_law parse_law(std::string_view text);

}  // namespace headway
