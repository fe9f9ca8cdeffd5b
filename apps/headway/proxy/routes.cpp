#include "proxy/routes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/url.hpp"

namespace headway::app::proxy {
namespace {

/// Whether `path` lies below `prefix`, which has no slash at its end.
bool below(std::string_view path, std::string_view prefix) noexcept {
  if (!path.starts_with(prefix)) return false;
  return path.size() == prefix.size() || path[prefix.size()] == '/' || path[prefix.size()] == '?';
}

/// "host:443" or "host" of the URL: both mean the server at "https://host:443".
bool names(std::string_view authority, std::string_view origin) {
  auto const with_port = origin.substr(origin.find("://") + 3);
  return equal_ignoring_case(authority, with_port) ||
         equal_ignoring_case(authority, with_port.substr(0, with_port.rfind(':')));
}

std::string joined(std::string_view path, std::string_view rest) {
  auto const slash = rest.starts_with('/') ? "" : "/";
  return fmt::format("{}{}{}", path, slash, rest);
}

}  // namespace

std::optional<route> route_of(std::vector<upstream_config> const& all, head const& r) {
  auto target = r.target;
  auto host = r.find("host").value_or("");
  auto const absolute = !target.starts_with('/');
  if (absolute) {
    auto const begin = target.find("://") + 3;
    auto const end = std::min(target.find_first_of("/?", begin), target.size());
    host = target.substr(begin, end - begin);
    target = target.substr(end);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].via_http_proxy && names(host, all[i].origin))
        return route{i, joined("", target), ""};
  }
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i].prefix.empty() && below(target, all[i].prefix) &&
        (all[i].host.empty() || equal_ignoring_case(host, all[i].host)) &&
        (!found || all[i].prefix.size() > all[*found].prefix.size()))
      found = i;
  for (std::size_t i = 0; i < all.size() && !found; ++i)
    if (all[i].prefix.empty() && !all[i].host.empty() && equal_ignoring_case(host, all[i].host))
      found = i;
  if (!found && !absolute && all.size() == 1 && all[0].prefix.empty() && all[0].host.empty() &&
      !all[0].via_http_proxy)
    found = 0;
  if (!found) return std::nullopt;
  auto const& u = all[*found];
  return route{*found, joined(u.path, target.substr(u.prefix.size())),
               std::string("http://").append(host).append(u.prefix)};
}

std::string describe(std::vector<upstream_config> const& all) {
  std::string text;
  for (auto const& u : all) {
    if (!text.empty()) text += ", ";
    if (!u.prefix.empty())
      text += u.prefix + "/…";
    else if (u.via_http_proxy)
      text += fmt::format("http://{}/… as an HTTP proxy", host_of(u.origin));
    else
      text += u.host.empty() ? "/…" : "Host " + u.host;
    text += " → " + u.name;
  }
  return text;
}

std::string rewritten(std::string_view value, upstream_config const& u, std::string_view base) {
  auto url = std::string_view(u.url);
  while (url.ends_with('/')) url.remove_suffix(1);
  std::string text;
  auto begins = [&](std::size_t at) {
    if (!equal_ignoring_case(value.substr(at, url.size()), url)) return false;
    auto const end = at + url.size();
    return end == value.size() ||
           std::string_view("/?#>").find(value[end]) != std::string_view::npos;
  };
  for (std::size_t at = 0; at < value.size();) {
    auto const first = at == 0 || value[at - 1] == '<';
    if (first && begins(at)) {
      text += base;
      at += url.size();
    } else {
      text += value[at++];
    }
  }
  return text;
}

}  // namespace headway::app::proxy
