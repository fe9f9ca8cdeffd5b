/// URLs that headway sends to: absolute, http or https.
#pragma once

#include <string>
#include <string_view>

namespace headway::app {

/// Where a URL goes, or why headway does not send there: one of the two is "".
struct destination {
  /// "https://host:port": lower case, default port made explicit, addresses canonical. Two URLs
  /// with the same origin share a server.
  std::string origin{};
  /// A sentence. Shows neither user:password nor the query, which may be secrets.
  std::string problem{};
};

/// Reads `url` as libcurl does when it sends it, so that both always see the same server; narrower
/// in what it takes. Throws std::bad_alloc.
destination destination_of(std::string const& url);

/// Returns `url` with spaces and what is not ASCII written as %20 and the like, but for its host.
std::string escaped(std::string url);

/// Returns a name that begins with an origin as people know it: without scheme and default port.
std::string short_name(std::string_view name);

/// The host of an origin, without brackets or port.
std::string_view host_of(std::string_view origin);

/// `url`, put behind `base` if it is only a path. Joined, not resolved as by RFC 3986: nothing that
/// follows a base changes its host, and a base of https://host/v1 keeps its /v1. Requires: no
/// trailing slash in `base`.
std::string absolute_url(std::string_view url, std::string_view base);

/// `url` without its query and fragment, which may be secrets.
std::string_view without_query(std::string_view url) noexcept;

}  // namespace headway::app
