/// Streams of server-sent events (WHATWG HTML, 9.2), as far as they tell of errors.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headway::app {

/// Returns the data of the last event that is an error: its `event` is "error", or its data, or
/// JSON that stands between the events, is an object with an `error`. nullopt where there is none.
/// Never throws, whatever the server sent. O(n).
std::optional<std::string> error_in_stream(std::string_view body);

}  // namespace headway::app
