/// Headers: what goes out with a request, and where a secret may go.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headway::app {

/// Why `name: value` cannot be sent as a header; "" if it can. Never contains the value.
std::string header_problem(std::string_view name, std::string_view value);

/// The header lines that --header options stand for: `Name: value`, or `@FILE` with one such line
/// each (blank and `#` lines skipped). `${env:NAME}` is replaced by the environment's value.
/// Errors: fatal(exit_usage) that names the option or file:line, never a value.
std::vector<std::string> expand_headers(std::span<std::string const> options);

/// Header lines that go to chosen servers only, since they may be secrets: to the hosts of
/// --header-for if there are any, else to the origin of --url or --base-url, else to the one origin
/// that JOBS has.
class bound_headers {
 public:
  bound_headers() = default;

  /// `hosts`: each HOST (any scheme and port), HOST:PORT, or a whole origin.
  /// Errors: fatal(exit_usage) where one of them is none of these.
  bound_headers(std::vector<std::string> lines, std::span<std::string const> hosts,
                std::string_view base_url);

  /// Tells of an origin that JOBS sends to; repeating one is harmless.
  /// Errors: fatal(exit_usage) at the second origin, where nothing but JOBS says where the
  /// headers go.
  void admit(std::string_view origin);

  /// Whether they are for `origin`.
  bool go_to(std::string_view origin) const noexcept;
  /// Returns a line for each host of --header-for that no admitted origin is one of; "" of none.
  std::string unmet() const;
  /// The lines for `origin`, empty if they are not for it.
  std::span<std::string const> of(std::string_view origin) const noexcept;

 private:
  std::vector<std::string> lines_;
  std::vector<std::string> hosts_;  // normalised: "host", "host:port" or "scheme://host:port"
  std::vector<std::string> unmet_;  // of hosts_, that are of --header-for
  bool chosen_ = false;
};

/// `hosts` of --header-for, for lines that come from elsewhere: HOST is https at 443, and HOST:PORT
/// https, on loopback also http; what has a scheme is as it is.
std::vector<std::string> over_tls(std::span<std::string const> hosts);

/// Returns whether one of the header lines has this name.
bool has_header(std::span<std::string const> lines, std::string_view name) noexcept;
/// Returns the name of a header line.
std::string_view name_of(std::string_view header) noexcept;

/// `text`, which a server has sent, without what `headers` carry, should it repeat that: each
/// value, what follows its first word, and its longer words, as they are or escaped as in JSON. The
/// type of a body is no secret.
std::string without_secrets(std::string_view text, std::span<std::string const> headers);

/// `lines` without the credentials among them, for a server that they are not for.
std::vector<std::string> without_credentials(std::span<std::string const> lines);

/// 16 hex digits that tell credentials apart without giving them away: a truncated SHA-256 of the
/// Authorization, Cookie, X-Api-Key and Api-Key lines. "" where there are none.
std::string credential_digest(std::span<std::string const> headers);

}  // namespace headway::app
