#include "proxy/guard.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "base/base64.hpp"
#include "base/text.hpp"

namespace headway::app::proxy {
namespace {

/// The host of "host:port" or "[host]:port".
std::string_view host_in(std::string_view authority) noexcept {
  if (authority.starts_with('['))
    return authority.substr(1, std::min(authority.find(']'), authority.size()) - 1);
  return authority.substr(0, std::min(authority.find(':'), authority.size()));
}

bool is_named(std::string_view authority, std::span<std::string const> names) {
  return std::ranges::any_of(names, [&](auto const& name) {
    return equal_ignoring_case(name, authority) || equal_ignoring_case(name, host_in(authority));
  });
}

bool is_ours(std::string_view authority, std::span<std::string const> names) {
  auto const host = host_in(authority);
  if (equal_ignoring_case(host, "localhost")) return true;
  error_code e;
  auto const ip = boost::asio::ip::make_address(host, e);
  return (!e && ip.is_loopback()) || is_named(authority, names);
}

/// Another port of this machine is another site: any program may listen there.
bool is_own_origin(std::string_view origin, std::string_view host,
                   std::span<std::string const> names) {
  for (std::string_view const scheme : {"http://", "https://"})
    if (origin.starts_with(scheme)) {
      auto const from = origin.substr(scheme.size());
      return is_authority(from) && (equal_ignoring_case(from, host) || is_named(from, names));
    }
  return false;
}

bool same(std::string_view shown, std::string_view token) noexcept {
  return shown.size() == token.size() &&
         CRYPTO_memcmp(shown.data(), token.data(), token.size()) == 0;
}

bool field_shows(http::field const& f, std::string_view token) {
  auto const is = [&](std::string_view name) { return equal_ignoring_case(f.name, name); };
  if (is("x-headway-token") || is("x-api-key") || is("api-key")) return same(f.value, token);
  if (!is("authorization")) return false;
  auto const space = f.value.find(' ');
  if (space == f.value.npos) return false;
  auto const scheme = f.value.substr(0, space);
  auto const rest = trimmed(f.value.substr(space + 1));
  if (equal_ignoring_case(scheme, "bearer")) return same(rest, token);
  if (!equal_ignoring_case(scheme, "basic")) return false;
  auto const pair = base64_decoded(rest);
  if (!pair) return false;
  auto const colon = pair->find(':');
  return colon != pair->npos && same(std::string_view(*pair).substr(colon + 1), token);
}

}  // namespace

std::optional<objection> objection_of_guard(head const& r, std::span<std::string const> names) {
  if (auto const host = r.find("host"); host && !is_ours(*host, names))
    return objection{
        421, "host",
        "Host is none of ours: want localhost, a loopback address or a configured name"};
  auto const from_here = std::ranges::all_of(r.fields, [&](auto const& f) {
    if (equal_ignoring_case(f.name, "sec-fetch-site"))
      return f.value == "same-origin" || f.value == "none";
    return !equal_ignoring_case(f.name, "origin") ||
           is_own_origin(f.value, r.find("host").value_or(""), names);
  });
  if (!from_here) return objection{403, "site", "a page of another site may not ask here"};
  return std::nullopt;
}

bool shows_token(head const& r, std::string_view token) {
  return std::ranges::any_of(r.fields, [&](auto const& f) { return field_shows(f, token); });
}

void hide_token(head& r, std::string_view token) {
  std::erase_if(r.fields, [&](auto const& f) { return field_shows(f, token); });
}

}  // namespace headway::app::proxy
