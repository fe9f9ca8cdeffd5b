#include "base/url.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/text.hpp"

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

/// A URL's beginning. Without a scheme, the authority is what might be meant as one.
struct beginning {
  std::string_view scheme;
  std::string_view authority;
};

beginning read_beginning(std::string_view url) noexcept {
  auto const ends_authority = [](char c) { return c == '/' || c == '?' || c == '#'; };
  beginning read;
  auto const mark = url.find("://");
  if (mark != url.npos && std::none_of(url.begin(), url.begin() + mark, ends_authority)) {
    read.scheme = url.substr(0, mark);
    url.remove_prefix(mark + 3);
  }
  auto const end = std::find_if(url.begin(), url.end(), ends_authority);
  read.authority = url.substr(0, static_cast<std::size_t>(end - url.begin()));
  return read;
}

/// Where `url` goes, or nullopt and why it goes nowhere.
std::optional<target> read_target(std::string_view url, std::string_view& why) {
  auto const fail = [&](std::string_view problem) {
    why = problem;
    return std::nullopt;
  };
  auto const [scheme, authority] = read_beginning(url);
  // May be meant even where the rest does not read as a URL, hence first.
  if (authority.find('@') != authority.npos)
    return fail("user:password is a secret in the file; want --header instead");
  if (scheme.empty()) return fail("want http://… or https://…, or a path with --base-url");
  target t;
  t.https = equal_ignoring_case(scheme, "https");
  if (!t.https && !equal_ignoring_case(scheme, "http")) return fail("want http or https");

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

/// `url` for a message, without what may be secret.
std::string shown(std::string_view url) {
  auto const authority = read_beginning(url).authority;
  return authority.find('@') == authority.npos ? in_quotes(url.substr(0, url.find('?')))
                                               : "(hidden)";
}

}  // namespace

std::string origin(std::string_view url) {
  std::string_view why;
  auto const t = read_target(url, why);
  if (!t) return {};
  auto const port = std::to_string(t->port);
  return std::string(t->https ? "https://" : "http://").append(t->host).append(":").append(port);
}

std::string_view host_of(std::string_view origin) {
  auto const scheme = origin.find("://");
  auto host = origin.substr(scheme == origin.npos ? 0 : scheme + 3);
  if (host.starts_with('[')) return host.substr(1, std::min(host.find(']'), host.size()) - 1);
  return host.substr(0, std::min(host.find(':'), host.size()));
}

std::string url_problem(std::string_view url) {
  if (url.size() > url_bytes_max)
    return fmt::format("url has {} bytes; want at most {}", url.size(), url_bytes_max);
  auto const strange =
      std::find_if(url.begin(), url.end(), [](char c) { return c <= ' ' || c > '~'; });
  if (strange != url.end())
    return fmt::format("url {}: byte {} must be written as %{:02X}", shown(url),
                       strange - url.begin() + 1, static_cast<unsigned char>(*strange));
  std::string_view why;
  if (!read_target(url, why)) return fmt::format("url {}: {}", shown(url), why);
  return {};
}

std::string absolute_url(std::string_view url, std::string_view base) {
  if (base.empty() || !read_beginning(url).scheme.empty()) return std::string(url);
  auto const separator = url.starts_with('/') || url.starts_with('?') ? "" : "/";
  return fmt::format("{}{}{}", base, separator, url);
}

}  // namespace headway::app
