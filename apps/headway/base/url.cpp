#include "base/url.hpp"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <utility>

#include "base/text.hpp"

namespace headway::app {
namespace {

constexpr std::size_t url_bytes_max = 65'536;

struct cleanup {
  void operator()(CURLU* u) const noexcept { curl_url_cleanup(u); }
  void operator()(char* text) const noexcept { curl_free(text); }
};

std::string part(CURLU* url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, flags) != CURLUE_OK) return {};
  std::unique_ptr<char, cleanup> const owned(text);
  return text;
}

/// A host as libcurl reads it, normalised: lower case, an IPv6 address canonical and in brackets;
/// "" where it is not one.
std::string normalised(std::string host) {
  if (host.starts_with('[')) {
    in6_addr address{};
    std::array<char, INET6_ADDRSTRLEN> canonical{};
    if (inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) != 1) return {};
    inet_ntop(AF_INET6, &address, canonical.data(), canonical.size());
    return fmt::format("[{}]", canonical.data());
  }
  auto const allowed = [](char c) {
    return is_alphanumeric(c) || c == '-' || c == '.' || c == '_';
  };
  return std::ranges::all_of(host, allowed) ? lower(host) : std::string();
}

constexpr std::string_view no_host =
    "want a host of letters, digits, '-', '.', '_' (other scripts as xn--…), or [IPv6]";
constexpr std::string_view no_port = "want a port from 1 to 65535";

/// Where a path, a query or a fragment begins from `at` on, or where `url` ends. It is asked of
/// each request, and find_first_of() asks another function of each byte.
std::size_t end_of_authority(std::string_view url, std::size_t at) noexcept {
  while (at < url.size() && url[at] != '/' && url[at] != '?' && url[at] != '#') ++at;
  return at;
}

/// The origin of `url`, or "" and why it has none. libcurl's own parser says, as it is the one that
/// says where a request goes, and with it its credentials.
std::string read_origin(std::string const& url, std::string_view& why) {
  auto const fail = [&](std::string_view problem) {
    why = problem;
    return std::string();
  };
  auto const mark = url.find("://");
  if (mark == url.npos || mark == 0 || end_of_authority(url, 0) != mark + 1)
    return fail("want http://… or https://…");
  std::string_view const scheme(url.data(), mark);
  bool const https = equal_ignoring_case(scheme, "https");
  if (!https && !equal_ignoring_case(scheme, "http")) return fail("want http or https");
  if (url.compare(mark, 4, ":///") == 0) return fail(no_host);  // libcurl reads on for a host

  // What follows the authority has no say in it, and most URLs of a run have the same one.
  thread_local std::string last, origin_of_last;
  auto const authority = std::string_view(url).substr(0, end_of_authority(url, mark + 3));
  if (authority == last) return origin_of_last;

  std::unique_ptr<CURLU, cleanup> const u(curl_url());
  if (!u) throw std::bad_alloc();
  switch (curl_url_set(u.get(), CURLUPART_URL, url.c_str(), CURLU_DISALLOW_USER)) {
    case CURLUE_OK:
      break;
    case CURLUE_OUT_OF_MEMORY:
      throw std::bad_alloc();
    case CURLUE_USER_NOT_ALLOWED:
      return fail("user:password is a secret in the file; want --header instead");
    case CURLUE_BAD_PORT_NUMBER:
      return fail(no_port);
    default:
      return fail(no_host);
  }
  auto const host = normalised(part(u.get(), CURLUPART_HOST));
  if (host.empty() || !part(u.get(), CURLUPART_ZONEID).empty()) return fail(no_host);
  auto const port = part(u.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  if (port.empty() || port == "0") return fail(no_port);
  last.clear();  // until they agree
  origin_of_last = fmt::format("{}://{}:{}", https ? "https" : "http", host, port);
  last = authority;
  return origin_of_last;
}

/// `url` for a message, without what may be secret.
std::string shown(std::string_view url) {
  return url.find('@') == url.npos ? in_quotes(url.substr(0, url.find('?'))) : "(hidden)";
}

}  // namespace

destination destination_of(std::string const& url) {
  if (url.size() > url_bytes_max)
    return {.problem = fmt::format("url has {} bytes; want at most {}", url.size(), url_bytes_max)};
  auto const strange = std::ranges::find_if(url, [](char c) { return c <= ' ' || c > '~'; });
  auto const words = strange != url.end() && *strange == ' ' && url.find("://") == url.npos;
  if (strange != url.end() && !words)
    return {.problem =
                fmt::format("url {}: byte {} must be written as %{:02X}", shown(url),
                            strange - url.begin() + 1, static_cast<unsigned char>(*strange))};
  std::string_view why;
  auto origin = read_origin(url, why);
  if (origin.empty()) return {.problem = fmt::format("url {}: {}", shown(url), why)};
  return {.origin = std::move(origin)};
}

std::string_view host_of(std::string_view origin) {
  auto const scheme = origin.find("://");
  auto host = origin.substr(scheme == origin.npos ? 0 : scheme + 3);
  if (host.starts_with('[')) return host.substr(1, std::min(host.find(']'), host.size()) - 1);
  return host.substr(0, std::min(host.find(':'), host.size()));
}

std::string escaped(std::string url) {
  auto const must_be = [](char c) { return c == ' ' || (c & 0x80) != 0; };
  if (std::ranges::none_of(url, must_be)) return url;
  auto const mark = url.find("://");
  auto const path = std::min(url.find_first_of("/?#", mark == url.npos ? 0 : mark + 3), url.size());
  auto text = url.substr(0, path);
  for (auto const c : std::string_view(url).substr(path))
    if (must_be(c))
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      text += c;
  return text;
}

std::string short_name(std::string_view name) {
  auto const https = name.starts_with("https://");
  if (!https && !name.starts_with("http://")) return std::string(name);
  name.remove_prefix(https ? 8 : 7);
  auto const end = std::min(name.find(' '), name.size());
  auto host = name.substr(0, end);
  std::string_view const port = https ? ":443" : ":80";
  if (host.ends_with(port)) host.remove_suffix(port.size());
  return std::string(host).append(name.substr(end));
}

std::string absolute_url(std::string_view url, std::string_view base) {
  auto const mark = url.find("://");
  auto const absolute = mark != url.npos && mark > 0 && url.find_first_of("/?#") == mark + 1;
  if (base.empty() || absolute) return std::string(url);
  auto const separator = url.starts_with('/') || url.starts_with('?') ? "" : "/";
  return fmt::format("{}{}{}", base, separator, url);
}

std::string_view without_query(std::string_view url) noexcept {
  return url.substr(0, std::min(url.find('?'), url.find('#')));
}

}  // namespace headway::app
