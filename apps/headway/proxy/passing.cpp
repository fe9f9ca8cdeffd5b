#include "proxy/passing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"
#include "client/headers.hpp"

namespace headway::app::proxy {
namespace {

/// Fields that are about one connection (RFC 9110 §7.6.1), or that framing says anew.
constexpr std::array<std::string_view, 11> hop_by_hop = {"connection",
                                                         "keep-alive",
                                                         "proxy-connection",
                                                         "te",
                                                         "trailer",
                                                         "upgrade",
                                                         "transfer-encoding",
                                                         "content-length",
                                                         "proxy-authenticate",
                                                         "proxy-authorization",
                                                         "http2-settings"};

bool is_hop(std::string_view name) noexcept {
  // The first letters tell most apart: this is asked for each field of each message.
  return std::string_view("cCkKpPtTuUhH").find(name.front()) != std::string_view::npos &&
         std::ranges::any_of(hop_by_hop,
                             [&](auto const hop) { return equal_ignoring_case(hop, name); });
}

/// The tokens of all Connection fields; mostly there is none but keep-alive or close.
struct connection_options {
  explicit connection_options(head const& h) {
    for (auto const& f : h.fields)
      if (equal_ignoring_case(f.name, "connection") &&
          !equal_ignoring_case(f.value, "keep-alive") && !equal_ignoring_case(f.value, "close"))
        lists.push_back(f.value);
  }
  bool name(std::string_view field) const noexcept {
    return std::ranges::any_of(lists, [&](auto const l) { return lists_token(l, field); });
  }
  std::vector<std::string_view> lists;
};

bool is_ours(std::string_view name) noexcept {
  return name.size() > 10 && equal_ignoring_case(name.substr(0, 10), "x-headway-");
}

void add(std::string& text, std::string_view name, std::string_view value) {
  text.append(name).append(": ").append(value).append("\r\n");
}

/// What of the codings that a client takes we can read, too; never more than it takes.
std::string narrowed(std::string_view codings) {
  std::string kept;
  for (auto rest = codings; !rest.empty();) {
    auto const end = std::min(rest.find(','), rest.size());
    auto const one = trimmed(rest.substr(0, end));
    auto const name = trimmed(one.substr(0, one.find(';')));
    for (auto const known : {"gzip", "x-gzip", "deflate", "identity"})
      if (equal_ignoring_case(name, known)) kept.append(kept.empty() ? "" : ", ").append(one);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return kept.empty() ? "identity" : kept;
}

/// Whether a signature of AWS's kind is over this field, so that it must stay as it is.
bool is_signed(head const& r, std::string_view name) {
  auto const authorization = r.find("authorization");
  if (!authorization) return false;
  auto const at = authorization->find("SignedHeaders=");
  if (at == authorization->npos) return false;
  auto list = authorization->substr(at + 14);
  list = list.substr(0, list.find_first_of(", "));
  while (!list.empty()) {
    auto const end = std::min(list.find(';'), list.size());
    if (equal_ignoring_case(list.substr(0, end), name)) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

/// Fields of a request that do not go on as they came.
bool is_replaced(std::string_view name) noexcept {
  return is_hop(name) || is_ours(name) || equal_ignoring_case(name, "host") ||
         equal_ignoring_case(name, "expect");
}

}  // namespace

bool may_be_added(std::string_view name) noexcept {
  return !is_replaced(name);
}

std::string request_head(head const& r, upstream_config const& u, std::string_view target,
                         std::size_t body_bytes, std::string_view mark) {
  std::string text;
  text.reserve(r.text.size() + 128);
  text.append(r.method).append(" ").append(target).append(" HTTP/1.1\r\n");
  connection_options const options(r);
  auto const origin = std::string_view(u.origin);
  auto const authority = origin.substr(origin.find("://") + 3);
  auto const standard = origin.ends_with(origin.starts_with("https") ? ":443" : ":80");
  std::string_view host = authority.substr(0, standard ? authority.rfind(':') : authority.size());
  if (u.client_host || u.via_http_proxy) host = r.find("host").value_or(host);
  add(text, "Host", host);
  for (auto const& [name, value] : r.fields) {
    if (is_replaced(name) || options.name(name) || has_header(u.headers, name)) continue;
    if (equal_ignoring_case(name, "accept-encoding") && !is_signed(r, name))
      add(text, name, narrowed(value));
    else
      add(text, name, value);
  }
  for (auto const& line : u.headers) text.append(line).append("\r\n");
  add(text, "CDN-Loop", mark);
  auto const has_body = r.find("content-length") || r.find("transfer-encoding");
  if (body_bytes > 0 || has_body) add(text, "Content-Length", std::to_string(body_bytes));
  text += "\r\n";
  return text;
}

std::string answer_head(head const& a, upstream_config const& u, std::string_view base, framing how,
                        bool keeps_alive) {
  std::string text;
  text.reserve(a.text.size() + 192);
  text.append("HTTP/1.1 ").append(std::to_string(a.status)).append(" ").append(a.reason);
  text.append("\r\n");
  connection_options const options(a);
  for (auto const& [name, value] : a.fields) {
    if (equal_ignoring_case(name, "content-length")) {
      // Of an answer without a body it is what a body would have; a 204 never has one.
      auto const tells = how == framing::length || (how == framing::none && a.status != 204);
      if (tells && a.find("content-length")->data() == value.data()) add(text, name, value);
      continue;
    }
    if (is_hop(name) || is_ours(name) || options.name(name)) continue;
    auto const links = equal_ignoring_case(name, "location") || equal_ignoring_case(name, "link");
    if (links && !base.empty())
      add(text, name, rewritten(value, u, base));
    else
      add(text, name, value);
  }
  if (how == framing::chunks) add(text, "Transfer-Encoding", "chunked");
  if (!keeps_alive) add(text, "Connection", "close");
  return text;
}

}  // namespace headway::app::proxy
