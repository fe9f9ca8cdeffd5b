/// An address to listen at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headway::app {

/// Returns whether it is an IPv4 or IPv6 address, without brackets.
bool is_address(std::string const& host);

/// ADDRESS:PORT, of which port 0 is any free one.
struct address {
  std::string host;  ///< an IPv4 or IPv6 address, without brackets
  std::uint16_t port = 0;

  /// Errors: std::invalid_argument with what is allowed.
  static address parse(std::string_view);
  bool is_loopback() const;
  /// As in a URL: [::1]:8080.
  std::string text() const;
  friend bool operator==(address const&, address const&) = default;
};

}  // namespace headway::app
