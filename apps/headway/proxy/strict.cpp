#include "proxy/strict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace headway::app::proxy {
namespace {

constexpr std::size_t fields_max = 100;
constexpr std::size_t answer_fields_max = 256;

/// Fields that a Connection field must not take away: the request would mean something else.
constexpr std::array<std::string_view, 10> kept = {
    "authorization", "api-key", "x-api-key",        "cookie",          "content-length",
    "content-type",  "host",    "content-encoding", "idempotency-key", "x-headway-client"};

bool is_number(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 18 && std::ranges::all_of(text, is_digit);
}

bool is_visible(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace

bool is_authority(std::string_view text) noexcept {
  std::string_view port;
  auto host = text;
  if (text.starts_with('[')) {
    auto const end = text.find(']');
    if (end == text.npos) return false;
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (host.empty() || !std::ranges::all_of(host, [](char c) {
          return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f') || c == ':' || c == '.';
        }))
      return false;
  } else {
    auto const colon = std::min(text.find(':'), text.size());
    host = text.substr(0, colon);
    port = text.substr(colon);
    if (host.empty() || !std::ranges::all_of(host, [](char c) {
          return is_alphanumeric(c) || c == '-' || c == '.' || c == '_';
        }))
      return false;
  }
  if (port.empty()) return true;
  return port.front() == ':' && port.size() <= 6 && std::ranges::all_of(port.substr(1), is_digit);
}

std::optional<objection> objection_to(head const& r) {
  auto const malformed = [](std::string what) {
    return objection{400, "malformed", std::move(what)};
  };
  if (r.version != 10 && r.version != 11)
    return malformed("want a request of HTTP/1.1 or HTTP/1.0");
  if (r.fields.size() > fields_max)
    return objection{431, "too_many_fields",
                     fmt::format("{} fields; want at most {}", r.fields.size(), fields_max)};
  if (r.method == "CONNECT")
    return objection{501, "connect",
                     "CONNECT is not served: want the proxy's address as the base URL of the API"};
  if (r.method == "TRACE")
    return objection{501, "trace", "TRACE is not served: its answer may show the credential"};
  for (auto const& f : r.fields)  // Java's client offers h2c with each request, and takes a no
    if (equal_ignoring_case(f.name, "upgrade") && !equal_ignoring_case(f.value, "h2c"))
      return objection{501, "upgrade", "Upgrade (WebSocket) is not served: want plain HTTP/1.1"};

  auto const hosts = r.count("host");
  if (hosts > 1 || (hosts == 0 && r.version == 11)) return malformed("want exactly one Host");
  if (hosts == 1 && !is_authority(*r.find("host"))) return malformed("Host is not a host name");

  if (!is_visible(r.target)) return malformed("the target must be written in visible ASCII");
  if (r.target.find('#') != r.target.npos) return malformed("the target has a fragment");
  if (!r.target.starts_with('/') && !equal_ignoring_case(r.target.substr(0, 7), "http://") &&
      !equal_ignoring_case(r.target.substr(0, 8), "https://"))
    return malformed("want a path, or a URL of http:// or https://");
  if (auto const host = r.find("host"); host && !r.target.starts_with('/')) {
    auto const begin = r.target.find("://") + 3;
    auto const end = r.target.find_first_of("/?", begin);
    if (!equal_ignoring_case(*host, r.target.substr(begin, end - begin)))  // RFC 9112 §3.2
      return malformed("Host is another than the target's");
  }

  auto const lengths = r.count("content-length");
  if (auto const codings = r.count("transfer-encoding"); codings > 0) {
    if (r.version == 10) return malformed("HTTP/1.0 has no Transfer-Encoding");
    if (lengths > 0) return malformed("both Transfer-Encoding and Content-Length");
    if (codings > 1) return malformed("want one Transfer-Encoding");
    if (!equal_ignoring_case(*r.find("transfer-encoding"), "chunked"))
      return objection{501, "transfer_coding", "the only Transfer-Encoding is chunked"};
  }
  if (lengths > 1 || (lengths == 1 && !is_number(*r.find("content-length"))))
    return malformed("want one Content-Length, a number");

  for (auto const& f : r.fields)
    if (equal_ignoring_case(f.name, "connection"))
      for (auto const name : kept)
        if (lists_token(f.value, name)) return malformed(fmt::format("Connection names {}", name));
  for (auto const& f : r.fields)
    if (equal_ignoring_case(f.name, "expect") && !equal_ignoring_case(f.value, "100-continue"))
      return objection{417, "expect", "the only expectation is 100-continue"};
  return std::nullopt;
}

std::string_view flaw_of(head const& a) noexcept {
  if (a.status < 100 || a.status > 999) return "a status that is none";
  if (a.fields.size() > answer_fields_max) return "too many fields";
  auto const lengths = a.count("content-length");
  if (auto const codings = a.count("transfer-encoding"); codings > 0) {
    if (lengths > 0) return "both Transfer-Encoding and Content-Length";
    if (codings > 1 || !equal_ignoring_case(*a.find("transfer-encoding"), "chunked"))
      return "an unknown Transfer-Encoding";
  }
  std::string_view first;
  for (auto const& f : a.fields) {
    if (!equal_ignoring_case(f.name, "content-length")) continue;
    if (!is_number(f.value) || (!first.empty() && first != f.value))
      return "a Content-Length that is no number, or two";
    first = f.value;
  }
  return {};
}

}  // namespace headway::app::proxy
