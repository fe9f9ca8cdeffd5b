/// A redirect: where an answer sends a request instead.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "headway/http/advice.hpp"

namespace headway::app {

struct redirect {
  std::string url{};         ///< where the request goes next, absolute; "" if it does not
  std::string origin{};      ///< of that
  std::string_view why{};    ///< … and why not
  bool same_origin = false;  ///< as it went to
};

/// 301, 302, 303, 307 or 308.
bool is_redirect(int status) noexcept;

/// Where `method` to `url`, whose origin is `from`, goes once `status` has answered it: GET and
/// HEAD whatever the redirect, all else only where that keeps the method (307, 308), since the
/// others may say that it was carried out. Never from https to http, nor where destination_of()
/// finds a problem. Requires: is_redirect. Source: RFC 9110 §15.4, §10.2.2.
redirect next_hop(std::string_view method, std::string_view url, std::string_view from, int status,
                  std::span<http::field const> fields);

/// Why a request that went to `from`, and to `hops` before, does not take this hop; "" if it does.
/// `hops_max`: so many, no more.
std::string why_not(redirect const&, std::string_view from, std::span<std::string const> hops,
                    int hops_max);

}  // namespace headway::app
