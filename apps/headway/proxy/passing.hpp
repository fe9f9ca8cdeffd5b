/// What of a message's head goes on, either way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proxy/config.hpp"
#include "proxy/message.hpp"
#include "proxy/routes.hpp"

namespace headway::app::proxy {

/// Returns the head of a request as the server gets it: without hop-by-hop fields and our hints,
/// with one framing, and the headers that the proxy adds in place of the client's. `mark`: of this
/// process, for its CDN-Loop.
std::string request_head(head const&, upstream_config const&, std::string_view target,
                         std::size_t body_bytes, std::string_view mark);

/// Whether a request may go on with such a field of the configuration: the others are about its
/// connection, or written anew.
bool may_be_added(std::string_view name) noexcept;

/// How the client can tell where a body ends.
enum class framing : std::uint8_t { none, length, chunks, close };

/// Returns the head of an answer as the client gets it, up to its last field; the caller adds more
/// and the blank line.
std::string answer_head(head const&, upstream_config const&, std::string_view base, framing,
                        bool keeps_alive);

}  // namespace headway::app::proxy
