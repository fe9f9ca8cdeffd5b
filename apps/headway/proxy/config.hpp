/// What a proxy is told: where it listens, and the servers behind it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.hpp"
#include "headway/time.hpp"
#include "hosts/limit_at.hpp"
#include "pacing/settings.hpp"

namespace headway::app::proxy {

/// Settings as they are written, in a file or as options.
struct pacing_words {
  std::optional<std::string> rate, concurrency, leave, law, profile, wait_max, attempts_max,
      retry_budget;
  std::vector<std::string> quotas;

  /// Whether they bound what is sent, whatever the server says.
  bool bounds() const noexcept { return rate || concurrency || !quotas.empty(); }
  /// These where they are set, else those of `others`.
  pacing_words over(pacing_words const& others) const;
  friend bool operator==(pacing_words const&, pacing_words const&) = default;
};

/// One server behind the proxy, with all that it is made from: one that is equal stays as it is.
struct upstream_config {
  std::string name, url;
  std::string origin;  ///< of the URL: "https://host:port"
  std::string path;    ///< of the URL, without a slash at its end: what a path is put behind
  std::string prefix;  ///< "/openai": taken off; "": none
  std::string host;    ///< that a request names in Host; "": any
  bool via_http_proxy = false;               ///< requests name the whole URL
  bool client_host = false;                  ///< Host goes on as the client sent it
  std::vector<std::string> header_words;     ///< as they are written
  std::vector<std::string> headers;          ///< "Name: value", added; secrets
  std::vector<std::string> header_commands;  ///< as of --header-cmd; `headers` has stand-ins
  std::optional<duration> header_ttl{};      ///< of what they print
  std::string ca_file;                       ///< "": the system's
  pacing_words words;
  std::size_t queue_max = 1000;
  std::string state;
  bool cold = false, alone = false;
  std::shared_ptr<fleet_link> fleet{};  ///< that the service has joined

  /// Whether both spend one limit: a server by one credential.
  bool has_limit_of(upstream_config const& other) const noexcept {
    return origin == other.origin && headers == other.headers &&
           header_commands == other.header_commands;
  }
  friend bool operator==(upstream_config const&, upstream_config const&) = default;
};

struct config {
  address listen{"127.0.0.1", 8080};
  std::optional<address> admin = address{"127.0.0.1", 8081};
  std::vector<std::string> admin_hosts;   ///< names by which the admin address may be called
  std::string admin_token, client_token;  ///< "": none
  std::vector<upstream_config> upstreams;
  std::size_t body_max = std::size_t{64} << 20, hold_max = std::size_t{256} << 20;
  std::size_t connections_max = 4096;
  std::string access_log;  ///< a path, - for standard output; "": none
  duration drain = 30s;
  std::optional<duration> hard_stop{};  ///< after a signal all ends by then
  bool retry_unsafe = false;
  limit_at limit{};  ///< of many hosts

  /// Whether a request to one of the servers spends credentials of ours.
  bool adds_credentials() const noexcept;
};

/// What the command line says, as text; what is not said is nullopt.
struct config_words {
  std::string file;  ///< of --config
  std::vector<std::string> upstreams;
  std::optional<std::string> listen, admin, queue, body_max, hold_max, connections, access_log,
      drain, hard_stop, state, limit_at, cacert, admin_token_file, client_token_file, host_header,
      header_ttl;
  std::vector<std::string> headers, header_commands;
  bool retry_unsafe = false, cold = false, alone = false;
  pacing_words pacing;
};

/// Returns the configuration: of the file, under what the command line says. Errors:
/// fatal(exit_usage) that names option or file:line, what is wrong and what is allowed; never a
/// value that may be secret.
config read_config(config_words const&);

/// Returns what the lanes of a server are made from. Errors: fatal(exit_usage).
pacing_settings settings_of(upstream_config const&);

}  // namespace headway::app::proxy
