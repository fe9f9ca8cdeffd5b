#include "run/url.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "run/text.hpp"

namespace headway::app {
namespace {

constexpr std::size_t url_bytes_max = 65'536;

struct target {
  bool https = false;
  std::string host;  // lower case; an IPv6 address canonical and in brackets
  int port = 0;
};

/// The host of an authority without its port, normalised; "" where it is not one.
std::string read_host(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) {
    in6_addr address{};
    std::array<char, INET6_ADDRSTRLEN> canonical{};
    std::string const inside(host.substr(1, host.size() - 2));
    if (inet_pton(AF_INET6, inside.c_str(), &address) != 1) return {};
    inet_ntop(AF_INET6, &address, canonical.data(), canonical.size());
    return fmt::format("[{}]", canonical.data());
  }
  auto const allowed = [](char c) {
    return is_alphanumeric(c) || c == '-' || c == '.' || c == '_';
  };
  if (!std::all_of(host.begin(), host.end(), allowed)) return {};
  return lower(host);
}

/// The target of `url`, or nullopt and why it has none.
std::optional<target> read_target(std::string_view url, std::string_view& why) {
  auto const fail = [&](std::string_view problem) {
    why = problem;
    return std::nullopt;
  };
  auto const scheme_end = url.find("://");
  if (scheme_end == url.npos || scheme_end > url.find_first_of("/?#"))
    return fail("want http://… or https://…, or a path with --base-url");
  target t;
  auto const scheme = url.substr(0, scheme_end);
  t.https = equal_ignoring_case(scheme, "https");
  if (!t.https && !equal_ignoring_case(scheme, "http")) return fail("want http or https");

  auto authority = url.substr(scheme_end + 3);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  auto const port_mark = authority.find(':', authority.find(']') + 1);  // npos + 1 == 0
  t.host = read_host(authority.substr(0, port_mark));
  if (t.host.empty())
    return fail(
        "want a host of letters, digits, '-', '.', '_' (other scripts as xn--…), or [IPv6]");
  t.port = t.https ? 443 : 80;
  if (port_mark == authority.npos) return t;
  auto const port = authority.substr(port_mark + 1);
  auto const [end, error] = std::from_chars(port.data(), port.data() + port.size(), t.port);
  if (error != std::errc() || end != port.data() + port.size() || t.port < 1 || t.port > 65535)
    return fail("want a port from 1 to 65535");
  return t;
}

/// user:password may stand even where the rest does not read as a URL.
bool has_userinfo(std::string_view url) noexcept {
  auto const scheme_end = url.find("://");
  if (scheme_end < url.find_first_of("/?#")) url.remove_prefix(scheme_end + 3);
  return url.substr(0, url.find_first_of("/?#")).find('@') != url.npos;
}

}  // namespace

std::string origin(std::string_view url) {
  std::string_view why;
  auto const t = read_target(url, why);
  if (!t || has_userinfo(url)) return {};
  return fmt::format("{}://{}:{}", t->https ? "https" : "http", t->host, t->port);
}

std::string url_problem(std::string_view url) {
  if (url.size() > url_bytes_max)
    return fmt::format("url has {} bytes; want at most {}", url.size(), url_bytes_max);
  if (has_userinfo(url)) return "url has user:password, a secret in the file; use --header instead";
  auto const shown = in_quotes(url.substr(0, url.find('?')));
  auto const strange =
      std::find_if(url.begin(), url.end(), [](char c) { return c <= ' ' || c > '~'; });
  if (strange != url.end())
    return fmt::format("url {}: byte {} must be written as %{:02X}", shown,
                       strange - url.begin() + 1, static_cast<unsigned char>(*strange));
  std::string_view why;
  if (!read_target(url, why)) return fmt::format("url {}: {}", shown, why);
  return {};
}

std::string absolute_url(std::string_view url, std::string_view base) {
  auto const scheme_end = url.find("://");
  if (base.empty() || scheme_end < url.find_first_of("/?#")) return std::string(url);
  auto const separator = url.starts_with('/') || url.starts_with('?') ? "" : "/";
  return fmt::format("{}{}{}", base, separator, url);
}

}  // namespace headway::app
