#include "proxy/http_proxy.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/base64.hpp"
#include "base/fatal.hpp"
#include "base/text.hpp"
#include "base/url.hpp"

namespace headway::app::proxy {
namespace {

/// Of the environment; the name in small letters comes first.
std::string variable(std::string const& name) {
  for (auto const& spelt : {lower(name), name})
    if (char const* const value = std::getenv(spelt.c_str()); value != nullptr && *value != '\0')
      return value;
  return {};
}

/// Whether NO_PROXY lists the host, or a domain that it is in.
bool goes_directly(std::string_view host) {
  auto const number = host.find_first_not_of("0123456789.") == host.npos;  // is in no domain
  auto const list = variable("NO_PROXY");
  for (auto rest = std::string_view(list); !rest.empty();) {
    auto const end = std::min(rest.find(','), rest.size());
    auto one = trimmed(rest.substr(0, end));
    while (one.starts_with('.')) one.remove_prefix(1);
    auto const domain =
        !number && host.size() > one.size() && host[host.size() - one.size() - 1] == '.';
    if (one == "*" || (!one.empty() && equal_ignoring_case(host, one)) ||
        (!one.empty() && domain && equal_ignoring_case(host.substr(host.size() - one.size()), one)))
      return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::string part(CURLU* url, CURLUPart which) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, CURLU_URLDECODE) != CURLUE_OK) return {};
  std::unique_ptr<char, void (*)(void*)> const owned(text, curl_free);
  return text;
}

}  // namespace

std::optional<http_proxy> http_proxy::before(std::string_view origin) {
  if (!origin.starts_with("https:") || goes_directly(host_of(origin))) return std::nullopt;
  auto via = variable("HTTPS_PROXY");
  if (via.empty()) return std::nullopt;
  if (via.find("://") == via.npos) via.insert(0, "http://");
  std::unique_ptr<CURLU, void (*)(CURLU*)> const url(curl_url(), curl_url_cleanup);
  auto const read = curl_url_set(url.get(), CURLUPART_URL, via.c_str(), 0) == CURLUE_OK;
  auto const user = part(url.get(), CURLUPART_USER), password = part(url.get(), CURLUPART_PASSWORD);
  auto const plain = via.find('@') == via.npos ? via : "http://" + via.substr(via.rfind('@') + 1);
  auto const to = destination_of(plain);
  if (!read || part(url.get(), CURLUPART_SCHEME) != "http" || to.origin.empty())
    throw fatal(exit_usage,
                "HTTPS_PROXY: want http://host:port, or http://user:password@host:port");
  http_proxy p{std::string(host_of(to.origin)), to.origin.substr(to.origin.rfind(':') + 1)};
  if (!user.empty() || !password.empty())
    p.authorization =
        fmt::format("Proxy-Authorization: Basic {}\r\n", base64(user + ':' + password));
  return p;
}

}  // namespace headway::app::proxy
