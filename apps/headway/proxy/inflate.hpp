/// Compressed bodies, read for a judgement.
#pragma once

#include <string>
#include <string_view>

namespace headway::app::proxy {

/// Returns as much of a gzip or deflate body as can be read, at most `most` bytes. `coding`: of
/// Content-Encoding; any other returns the body as it is.
std::string inflated(std::string_view body, std::string_view coding, std::size_t most);

}  // namespace headway::app::proxy
