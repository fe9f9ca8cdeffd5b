/// Routes: which server a request is for, and what it is called there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/config.hpp"
#include "proxy/message.hpp"

namespace headway::app::proxy {

struct route {
  std::size_t upstream = 0;  ///< its index
  std::string target;        ///< path and query, as the server is asked
  std::string base;  ///< what stands for the server's URL, to the client: "" where it knows it
};

/// Returns where a request goes: by the whole URL that it names, else the longest prefix, else
/// Host, else the only server. The path is compared as it was sent.
std::optional<route> route_of(std::vector<upstream_config> const&, head const&);

/// Returns the routes there are, for people.
std::string describe(std::vector<upstream_config> const&);

/// Returns a Location or Link with our URL in place of the server's, where it begins with that.
std::string rewritten(std::string_view value, upstream_config const&, std::string_view base);

}  // namespace headway::app::proxy
