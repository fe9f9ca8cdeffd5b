#include "base/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <stdexcept>

#include "base/whole_number.hpp"

namespace headway::app {
namespace {

bool is_ipv4(std::string const& host) {
  in_addr unused{};
  return inet_pton(AF_INET, host.c_str(), &unused) == 1;
}

bool is_ipv6(std::string const& host) {
  in6_addr unused{};
  return inet_pton(AF_INET6, host.c_str(), &unused) == 1;
}

}  // namespace

bool is_address(std::string const& host) {
  return is_ipv4(host) || is_ipv6(host);
}

address address::parse(std::string_view text) {
  address a;
  auto const colon = text.rfind(':');
  auto host = text.substr(0, colon);
  auto const bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  a.host = host == "localhost" ? "127.0.0.1" : host;
  if (colon == text.npos || !parse_whole(text.substr(colon + 1), a.port) ||
      !(bracketed ? is_ipv6(a.host) : is_ipv4(a.host)))
    throw std::invalid_argument(
        "want ADDRESS:PORT, as 127.0.0.1:8080 or [::1]:8080; port 0 is any free one");
  return a;
}

bool address::is_loopback() const {
  in6_addr six{};
  if (inet_pton(AF_INET6, host.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six);
  return host.starts_with("127.");
}

std::string address::text() const {
  if (host.find(':') == host.npos) return fmt::format("{}:{}", host, port);
  return fmt::format("[{}]:{}", host, port);
}

}  // namespace headway::app
