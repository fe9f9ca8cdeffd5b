/// The guard before what a web page must not reach.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "proxy/message.hpp"
#include "proxy/strict.hpp"

namespace headway::app::proxy {

/// Returns why a request may come from a page of another site, by Host (DNS rebinding), Origin and
/// Sec-Fetch-Site; nullopt where it does not. `names`: of us, beside localhost and loopback
/// addresses, any port. Origin wants to be that of Host, or one of `names`.
std::optional<objection> objection_of_guard(head const&, std::span<std::string const> names);

/// Returns whether a request shows this token: as X-Headway-Token, an Authorization of Bearer or
/// Basic (its password), or x-api-key. Takes the same time for any wrong one.
bool shows_token(head const&, std::string_view token);

/// Takes the fields away that show the token: no server is to see it.
void hide_token(head&, std::string_view token);

}  // namespace headway::app::proxy
