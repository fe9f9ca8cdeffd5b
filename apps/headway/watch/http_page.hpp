/// A page that a program fetches over HTTP.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "watch/listener.hpp"

namespace headway::app {

/// One page at one path, for GET and HEAD.
struct http_page {
  std::string path;  ///< "/metrics"
  std::string type;  ///< its Content-Type
  std::string host;  ///< by which it is known, beside localhost and addresses
  std::function<std::string()> text;

  /// Answers what a client has said so far; nullopt: its request is not whole. A request by a name
  /// that is not ours is refused, since a web page that was given our address could read it.
  std::optional<listener::reply> answer(std::string_view said) const;
};

}  // namespace headway::app
