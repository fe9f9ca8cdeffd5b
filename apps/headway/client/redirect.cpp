#include "client/redirect.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/text.hpp"
#include "base/url.hpp"

namespace headway::app {
namespace {

/// `location` as seen from `base`, without its fragment; "" where it leads nowhere.
std::string resolved(std::string const& base, std::string const& location) {
  struct cleanup {
    void operator()(CURLU* u) const noexcept { curl_url_cleanup(u); }
    void operator()(char* text) const noexcept { curl_free(text); }
  };
  std::unique_ptr<CURLU, cleanup> const u(curl_url());
  if (!u || curl_url_set(u.get(), CURLUPART_URL, base.c_str(), 0) != CURLUE_OK ||
      curl_url_set(u.get(), CURLUPART_URL, location.c_str(), CURLU_URLENCODE) != CURLUE_OK ||
      curl_url_set(u.get(), CURLUPART_FRAGMENT, nullptr, 0) != CURLUE_OK)
    return {};
  char* text = nullptr;
  if (curl_url_get(u.get(), CURLUPART_URL, &text, 0) != CURLUE_OK) return {};
  std::unique_ptr<char, cleanup> const owned(text);
  return text;
}

}  // namespace

bool is_redirect(int status) noexcept {
  return (status >= 301 && status <= 303) || status == 307 || status == 308;
}

redirect next_hop(std::string_view method, std::string_view url, std::string_view from, int status,
                  std::span<http::field const> fields) {
  if (method != "GET" && method != "HEAD" && status != 307 && status != 308)
    return {.why = "it is followed for GET and HEAD only"};
  std::string_view location;
  for (auto const& f : fields)
    if (equal_ignoring_case(f.name, "Location")) location = trimmed(f.value);
  if (location.empty()) return {.why = "it has no Location"};
  auto next = resolved(std::string(url), std::string(location));
  auto to = destination_of(next).origin;
  if (to.empty()) return {.why = "its Location is no URL to go to"};
  if (from.starts_with("https:") && !to.starts_with("https:"))
    return {.why = "it leads from https to http"};
  auto const same_origin = from == to;
  return {.url = std::move(next), .origin = std::move(to), .same_origin = same_origin};
}

std::string why_not(redirect const& hop, std::string_view from, std::span<std::string const> hops,
                    int hops_max) {
  if (hops_max == 0) return "redirects are not followed";
  if (hop.url.empty()) return fmt::format("the redirect is not followed: {}", hop.why);
  if (hop.url == from || std::ranges::count(hops, hop.url) > 0)
    return "the redirect leads back to where it was";
  if (hops.size() == static_cast<std::size_t>(hops_max))
    return fmt::format("more than {} redirects (--redirects-max)", hops_max);
  return "";
}

}  // namespace headway::app
