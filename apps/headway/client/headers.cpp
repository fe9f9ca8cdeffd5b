#include "client/headers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>

#include "base/address.hpp"
#include "base/fatal.hpp"
#include "base/json_text.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/url.hpp"
#include "base/words.hpp"

namespace headway::app {
namespace {

bool is_token(std::string_view name) noexcept {  // RFC 9110 §5.6.2
  auto const allowed = [](char c) {
    return is_alphanumeric(c) ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), allowed);
}

/// The first ones tell accounts apart.
constexpr std::array<std::string_view, 8> credentials = {
    "authorization",       "cookie",       "x-api-key",      "api-key",
    "proxy-authorization", "x-auth-token", "x-goog-api-key", "x-amz-security-token"};
constexpr std::span accounts(credentials.data(), 4);

/// `text` with ${env:NAME} replaced. `where` names the option in errors.
std::string with_environment(std::string_view text, std::string const& where) {
  constexpr std::string_view open = "${env:";
  std::string result;
  for (;;) {
    auto const begin = text.find("${");
    result += text.substr(0, begin);
    if (begin == text.npos) return result;
    auto const end = text.find('}', begin);
    if (!text.substr(begin).starts_with(open) || end == text.npos)
      throw fatal(exit_usage, where + ": want ${env:NAME} where it has ${");
    std::string const name(text.substr(begin + open.size(), end - begin - open.size()));
    char const* const value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0')
      throw fatal(exit_usage, fmt::format("{}: environment variable {} is {}", where,
                                          in_quotes(name), value == nullptr ? "not set" : "empty"));
    result += value;
    text.remove_prefix(end + 1);
  }
}

/// Whether its last word is a shell's variable: "Bearer $KEY", "${KEY}".
bool names_a_variable(std::string_view value) noexcept {
  auto word = value.substr(value.rfind(' ') + 1);
  if (!word.starts_with('$')) return false;
  word = trimmed(word.substr(1), "{}");
  return word.size() > 1 && std::ranges::all_of(word, [](char c) {
           return c == '_' || (lower(c) != c) || is_digit(c);
         });
}

std::string read_header(std::string_view text, std::string const& where) {
  auto const colon = text.find(':');
  if (colon == text.npos) throw fatal(exit_usage, where + ": want 'Name: value'");
  auto const name = text.substr(0, colon);
  auto const value = with_environment(trimmed(text.substr(colon + 1)), where);
  if (auto const problem = header_problem(name, value); !problem.empty())
    throw fatal(exit_usage, fmt::format("{}: header {} {}", where, in_quotes(name), problem));
  if (value == trimmed(text.substr(colon + 1)) && names_a_variable(value))
    say(fmt::format("{}: header {} is sent with a $NAME as it stands; ${{env:NAME}} is its value",
                    where, in_quotes(name)));
  return fmt::format("{}: {}", name, value);
}

/// One of --header-for, as bound_headers keeps it.
std::string read_host(std::string const& text) {
  bool const whole = text.find("://") != text.npos;
  auto full = destination_of(whole ? text : "https://" + text).origin;
  if (full.empty() || text.find_first_of("/?#", whole ? text.find("://") + 3 : 0) != text.npos)
    throw fatal(
        exit_usage,
        fmt::format("--header-for {}: want HOST, HOST:PORT or https://HOST:PORT", in_quotes(text)));
  if (whole) return full;
  auto const with_port = full.substr(std::string_view("https://").size());
  bool const has_port = text.find(':', text.find(']') + 1) != text.npos;
  return has_port ? with_port : with_port.substr(0, with_port.rfind(':'));
}

/// Whether it is at `host`, as bound_headers keeps it.
bool is_of(std::string_view origin, std::string_view host) noexcept {
  auto const with_port = origin.substr(origin.find("://") + 3);
  return host == origin || host == with_port || host == with_port.substr(0, with_port.rfind(':'));
}

}  // namespace

std::string_view name_of(std::string_view header) noexcept {
  return header.substr(0, header.find(':'));
}

bool has_header(std::span<std::string const> lines, std::string_view name) noexcept {
  return std::any_of(lines.begin(), lines.end(),
                     [&](auto const& line) { return equal_ignoring_case(name_of(line), name); });
}

std::string header_problem(std::string_view name, std::string_view value) {
  if (!is_token(name)) return "is not a name: want letters, digits and !#$%&'*+-.^_`|~";
  if (equal_ignoring_case(name, "Content-Length") || equal_ignoring_case(name, "Transfer-Encoding"))
    return "is set from the body; want it left out";
  if (std::any_of(value.begin(), value.end(), [](char c) { return is_control(c) && c != '\t'; }))
    return "has a control character in its value";
  return {};
}

std::vector<std::string> expand_headers(std::span<std::string const> options) {
  std::vector<std::string> lines;
  for (auto const& option : options) {
    if (!option.starts_with('@')) {
      lines.push_back(read_header(option, "--header"));
      continue;
    }
    auto const path = option.substr(1);
    std::ifstream in(path);
    std::string text;
    for (int line = 1; std::getline(in, text); ++line)
      if (auto const header = trimmed(text); !header.empty() && header.front() != '#')
        lines.push_back(read_header(header, fmt::format("{}:{}", path, line)));
    if (!in.eof()) throw fatal(exit_usage, fmt::format("--header {}: cannot read it", option));
  }
  return lines;
}

bound_headers::bound_headers(std::vector<std::string> lines, std::span<std::string const> hosts,
                             std::string_view base_url)
    : lines_(std::move(lines)), chosen_(!hosts.empty() || !base_url.empty()) {
  for (auto const& host : hosts) hosts_.push_back(read_host(host));
  if (!lines_.empty()) unmet_ = hosts_;
  if (hosts.empty() && !base_url.empty())
    hosts_.push_back(destination_of(std::string(base_url)).origin);
}

void bound_headers::admit(std::string_view origin) {
  std::erase_if(unmet_, [&](auto const& host) { return is_of(origin, host); });
  if (chosen_ || lines_.empty()) return;
  if (hosts_.empty()) hosts_.emplace_back(origin);
  if (hosts_.front() != origin)
    throw fatal(
        exit_usage,
        fmt::format("--header: JOBS has several origins ({}, {}); say with --header-for HOST "
                    "to which the headers may go",
                    hosts_.front(), origin));
}

std::string bound_headers::unmet() const {
  std::string text;
  for (auto const& host : unmet_)
    text += fmt::format("--header-for {}: no request of JOBS goes there\n", host);
  return text;
}

bool bound_headers::go_to(std::string_view origin) const noexcept {
  return std::ranges::any_of(hosts_, [&](auto const& host) { return is_of(origin, host); });
}

std::vector<std::string> over_tls(std::span<std::string const> hosts) {
  std::vector<std::string> all;
  for (auto const& text : hosts) {
    address const there{.host = std::string(host_of(destination_of("https://" + text).origin))};
    auto const here = there.host == "localhost" || (is_address(there.host) && there.is_loopback());
    bool const has_port = text.find(':', text.find(']') + 1) != text.npos;
    all.push_back(text.find("://") != text.npos || (here && has_port) ? text
                  : has_port                                          ? "https://" + text
                                                                      : "https://" + text + ":443");
  }
  return all;
}

std::span<std::string const> bound_headers::of(std::string_view origin) const noexcept {
  if (!go_to(origin)) return {};
  return lines_;
}

std::string without_secrets(std::string_view text, std::span<std::string const> headers) {
  constexpr std::size_t word_min = 8;   // shorter ones are words of the language
  constexpr std::size_t begun_min = 4;  // of one that is cut off by the end of the text
  std::vector<std::string> secrets;
  auto const add = [&](std::string_view secret) {
    if (secret.empty()) return;
    std::string json;
    append_quoted(json, secret);
    json = json.substr(1, json.size() - 2);
    std::string slashes;
    for (char const c : json) slashes += c == '/' ? "\\/" : std::string(1, c);
    secrets.insert(secrets.end(), {std::string(secret), json, slashes});
  };
  for (auto const& line : headers) {
    if (equal_ignoring_case(name_of(line), "Content-Type")) continue;
    auto const value = trimmed(std::string_view(line).substr(name_of(line).size() + 1));
    add(value);
    if (auto const space = value.find(' '); space != value.npos) add(value.substr(space + 1));
    for (auto rest = value; !rest.empty();) {
      auto const word = rest.substr(0, rest.find_first_of(" ;,=:\""));
      if (word.size() >= word_min) add(word);
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    }
  }
  std::ranges::sort(secrets, std::ranges::greater{}, &std::string::size);

  std::string shown(text);
  for (auto const& secret : secrets)
    for (auto at = shown.find(secret); at != shown.npos; at = shown.find(secret, at))
      shown.replace(at, secret.size(), "…"), at += std::string_view("…").size();
  for (auto const& secret : secrets)
    for (auto n = std::min(secret.size(), shown.size()); n >= begun_min; --n)
      if (shown.ends_with(std::string_view(secret).substr(0, n))) {
        shown.replace(shown.size() - n, n, "…");
        break;
      }
  return shown;
}

std::vector<std::string> without_credentials(std::span<std::string const> lines) {
  std::vector<std::string> kept;
  for (auto const& line : lines) {
    auto const is = [&](auto const name) { return equal_ignoring_case(name_of(line), name); };
    if (std::ranges::none_of(credentials, is)) kept.push_back(line);
  }
  return kept;
}

std::string credential_digest(std::span<std::string const> headers) {
  std::string all;
  for (auto const name : accounts)
    for (auto const& line : headers)
      if (equal_ignoring_case(name_of(line), name))
        all += fmt::format("{}:{}\n", name, line.substr(name.size() + 1));
  if (all.empty()) return {};
  return digest_in_hex(all);
}

}  // namespace headway::app
