/// URLs that headway sends to: absolute, http or https.
#pragma once

#include <string>
#include <string_view>

namespace headway::app {

/// "https://host:port" of `url`: lower case, default port made explicit; "" where url_problem()
/// finds one. Two URLs with the same origin share a server.
std::string origin(std::string_view url);

/// The host of an origin(), without brackets or port.
std::string_view host_of(std::string_view origin);

/// Why headway does not send to `url`; "" if it does. Narrower than what libcurl takes, so that
/// both always see the same host. Shows neither user:password nor the query, which may be secrets.
std::string url_problem(std::string_view url);

/// `url`, put behind `base` if it is only a path. Joined, not resolved as by RFC 3986: nothing that
/// follows a base changes its host, and a base of https://host/v1 keeps its /v1. Requires: no
/// trailing slash in `base`.
std::string absolute_url(std::string_view url, std::string_view base);

}  // namespace headway::app
