/// An HTTP proxy between us and a server.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headway::app::proxy {

/// It is asked by CONNECT for a connection.
struct http_proxy {
  std::string host, port;
  std::string authorization{};  ///< a line for it, "": none; a secret

  /// Returns the one that HTTPS_PROXY names, unless the origin is http or NO_PROXY lists its host.
  /// Errors: fatal(exit_usage).
  static std::optional<http_proxy> before(std::string_view origin);
};

}  // namespace headway::app::proxy
