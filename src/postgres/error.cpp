#include "headway/postgres/error.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace headway::postgres {

error::error(failure meaning, std::string state, std::string const& what)
    : std::runtime_error(what), kind(meaning), sqlstate(std::move(state)) {}

error::~error() = default;

namespace {

constexpr auto unavailable = failure::unavailable;
constexpr auto usage = failure::usage;

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// One line, without what libpq and the server add for experts.
std::string in_one_line(std::string_view text) {
  std::string out;
  for (char const c : text) {
    auto const blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (blank && (out.empty() || out.back() == ' ')) continue;
    out += blank ? ' ' : c;
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '.')) out.pop_back();
  return out;
}

/// What the server itself said last: "FATAL:  28P01: message", whatever its language. That it
/// refuses a password counts more: libpq may have tried again without TLS.
struct said {
  std::string sqlstate, message;
};

said last_said(std::string_view text) {
  said last;
  constexpr std::size_t code = 5;
  for (auto at = text.find(":  "); at != text.npos; at = text.find(":  ", at + 1)) {
    auto const state = text.substr(at + 3, code);
    auto const rest = text.substr(std::min(text.size(), at + 3 + state.size()));
    auto const is_state = state.size() == code && std::ranges::all_of(state, [](char c) {
                            return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
                          });
    if (is_state && last.sqlstate != "28P01" && rest.starts_with(": "))
      last = {std::string(state), in_one_line(rest.substr(2, rest.find('\n') - 2))};
  }
  return last;
}

/// Why TLS failed, where libpq then tried without: a server that wants it complains of that only.
std::string said_before(std::string_view text) {
  auto const first = text.substr(0, text.find('\n'));
  if (!has(first, "certificate file") && !has(first, "private key file") && !has(first, "SSL"))
    return "";
  constexpr std::string_view failed = " failed: ";
  auto const at = first.find(failed);
  return "; over TLS: " + in_one_line(first.substr(at == first.npos ? 0 : at + failed.size()));
}

std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

/// What libpq says of itself, for which it has no code; the first that is in its text counts.
struct saying {
  std::string_view part;
  failure kind;
  std::string_view sentence;
  std::string_view sqlstate{};
};

constexpr std::string_view no_tls =
    "it has no TLS: turn ssl on there, or add sslmode=disable to the URL if the network is trusted";
constexpr std::string_view no_postgresql =
    "what answers there is no PostgreSQL: check host and port";
constexpr std::string_view no_authority =
    "there is no certificate of an authority to verify it with: add sslrootcert=FILE to the URL "
    "(/etc/ssl/certs/ca-certificates.crt for public ones)";
constexpr std::string_view no_password =
    "it wants a password: put it into ~/.pgpass (mode 0600) or PGPASSWORD";

constexpr std::array sayings = {
    saying{"does not support SSL", usage, no_tls},
    saying{"certificate verify failed", usage,
           "its certificate is not signed by the authority that was given: give the right one by "
           "sslrootcert=FILE in the URL"},
    saying{"does not match host name", usage,
           "its certificate is for another name: use the name in the certificate as the host"},
    saying{
        "could not read root certificate", usage,
        "what sslrootcert names is no certificate, or cannot be read: give that of the authority "
        "which signed the server's"},
    saying{"root certificate file", usage, no_authority},
    saying{"could not get home directory to locate root", usage, no_authority},
    saying{"no password supplied", usage, no_password},
    saying{"received invalid response to SSL negotiation", usage, no_postgresql},
    saying{"expected authentication request", usage, no_postgresql},
    saying{"received invalid authentication request", usage, no_postgresql},
    saying{"Temporary failure in name resolution", unavailable, "its name cannot be resolved now"},
    saying{"could not translate host name", usage,
           "its name cannot be resolved: check the host in the URL"},
    saying{"session is read-only", usage,
           "it is read-only: give the URL of the primary (several hosts may be listed)", "25006"},
    saying{"Connection refused", unavailable, "nothing listens there: is the server running?"},
    saying{"No such file or directory", unavailable,
           "there is no such socket: is the server running?"},
    saying{"No route to host", unavailable, "there is no route to it"},
    saying{"Network is unreachable", unavailable, "its network is unreachable"},
};

}  // namespace

judgement judge_connection(std::string_view text, std::string_view role,
                           std::string_view database) {
  auto const server = last_said(text);
  auto const& state = server.sqlstate;
  auto const& message = server.message;
  auto const is = [&](failure kind, std::string sentence) {
    return judgement{kind, state, std::move(sentence)};
  };
  if (state == "28P01")
    return is(usage, "it refuses the password of " + quoted(role) +
                         ": put the right one into ~/.pgpass (mode 0600) or PGPASSWORD");
  if (state == "3D000")
    return is(usage, "it has no database " + quoted(database) + ": create it, or name another");
  if (state == "28000")
    return is(usage, "it does not let " + quoted(role) +
                         " in: check the role, and pg_hba.conf there (" + message + ")" +
                         said_before(text));
  if (state == "42501")
    return is(usage, quoted(role) + " may not connect to " + quoted(database) +
                         ": grant connect on the database to the role");
  if (state == "53300")
    return is(unavailable,
              "it has no connection left: raise max_connections there, or put "
              "pgbouncer before it (" +
                  message + ")");
  if (state == "57P03") return is(unavailable, "it is starting or stopping (" + message + ")");
  if (!state.empty()) {
    auto const goes_by = state.starts_with("53") || state.starts_with("57P");
    return is(goes_by ? unavailable : usage, "it refuses the connection: " + message);
  }
  for (auto const& [part, kind, sentence, sqlstate] : sayings)
    if (has(text, part)) return {kind, std::string(sqlstate), std::string(sentence)};
  auto const line = in_one_line(text);
  auto const wrong = line.starts_with("invalid ") || line.starts_with("could not match ") ||
                     has(line, "certificate file") || has(line, "private key file") ||
                     has(line, "SSL error") || has(line, "TLS");
  return is(wrong ? usage : unavailable, line.empty() ? "it does not answer" : line);
}

judgement judge_statement(std::string_view sqlstate, std::string_view message,
                          std::string_view role) {
  auto const said = in_one_line(message);
  auto const is = [&](failure kind, std::string sentence) {
    return judgement{kind, std::string(sqlstate), std::move(sentence)};
  };
  if (sqlstate == "25006")
    return is(usage,
              "it is read-only: give the URL of the primary, or unset "
              "default_transaction_read_only");
  if (sqlstate == "42501")
    return is(usage, quoted(role) + " lacks a right (" + said +
                         "): let a role that may make roles run what `headway fleet init --sql` "
                         "prints, then grant headway_worker to the role");
  if (sqlstate == "3F000" || sqlstate == "42883" || sqlstate == "42P01")
    return is(failure::refused,
              "its schema headway1 is missing, or parts of it (" + said +
                  "): the first host makes it if it may; else let the owner of the database run "
                  "what `headway fleet init --sql` prints");
  if (sqlstate == "57014")
    return is(unavailable, "it took too long and was cancelled (" + said +
                               "): look at its load, and at statement_timeout");
  if (sqlstate == "53100") return is(unavailable, "its disk is full: make room there");
  if (sqlstate.starts_with("53") || sqlstate.starts_with("40") || sqlstate.starts_with("57") ||
      sqlstate.starts_with("58") || sqlstate == "55P03")
    return is(unavailable, said);
  return is(failure::refused, said);
}

}  // namespace headway::postgres
