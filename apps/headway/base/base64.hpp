/// Base64 as RFC 4648 §4 has it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headway::app {

/// Returns the bytes that `text` stands for; nullopt where it is not base64 with its padding.
std::optional<std::string> base64_decoded(std::string_view text);

/// Returns `bytes` as base64, with padding.
std::string base64(std::string_view bytes);

}  // namespace headway::app
