#include "proxy/config.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/fatal.hpp"
#include "base/nearest.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "base/url.hpp"
#include "base/whole_number.hpp"
#include "client/header_commands.hpp"
#include "client/headers.hpp"
#include "os/descriptors.hpp"
#include "os/file_identity.hpp"
#include "os/named_files.hpp"
#include "pacing/laws.hpp"
#include "pacing/memory.hpp"
#include "proxy/passing.hpp"
#include "proxy/strict.hpp"

namespace headway::app::proxy {
namespace {

constexpr std::size_t token_min = 16, token_max = 4096;
constexpr std::size_t file_max = std::size_t{1} << 20;
constexpr duration hold_believed = 1h;  // a day's quota is asked about 24 times

std::size_t parse_count(std::string_view text) {
  std::size_t n = 0;
  if (!parse_whole(text, n) || n < 1 || n > 1'000'000)
    throw std::invalid_argument("want a whole number from 1 to 1000000");
  return n;
}

duration parse_ttl(std::string_view text) {
  auto const ttl = parse_patience(text);
  if (ttl < 1s) throw std::invalid_argument("want at least 1s");
  return ttl;
}

/// Nothing that would hold up the proxy: it is read while requests wait.
std::string read_file(std::string const& path, std::string_view option) {
  auto const fail = [&](std::string_view why) {
    throw fatal(exit_usage, fmt::format("{} {}: {}", option, in_quotes(path), why));
  };
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail("want a regular file");
  if (status.st_size > static_cast<off_t>(file_max))
    fail(fmt::format("{} bytes; want at most {}", status.st_size, file_max));
  std::ifstream in(path, std::ios::binary);
  std::string text(file_max, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.eof()) fail(in.fail() ? std::strerror(errno) : "it grows while it is read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

/// A secret in a file that only its owner can read.
std::string read_token(std::string const& path, std::string_view option) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0)
    throw fatal(exit_usage,
                fmt::format("{} {}: {}", option, in_quotes(path), std::strerror(errno)));
  if ((status.st_mode & 077) != 0)
    throw fatal(exit_usage,
                fmt::format("{} {}: others can read it; want mode 0600", option, in_quotes(path)));
  std::string token(trimmed(read_file(path, option), " \t\r\n"));
  auto const visible = std::ranges::all_of(token, [](char c) { return c > ' ' && c < '\x7f'; });
  if (token.size() < token_min || token.size() > token_max || !visible)
    throw fatal(exit_usage, fmt::format("{} {}: want one line of {} to {} visible characters",
                                        option, in_quotes(path), token_min, token_max));
  return token;
}

/// The keys of one table of a file, each asked for once; what nothing asked for is wrong.
class section {
 public:
  section(toml::table const& table, std::string file) : table_(table), file_(std::move(file)) {}

  [[noreturn]] void wrong(toml::node const& where, std::string_view what) const {
    throw fatal(exit_usage, fmt::format("{}:{}: {}", file_, where.source().begin.line, what));
  }

  toml::node const* node(std::string_view key) {
    asked_.emplace_back(key);
    return table_.get(key);
  }
  std::optional<std::string> text(std::string_view key) {
    auto const* const n = node(key);
    if (n == nullptr) return std::nullopt;
    if (auto const whole = n->value_exact<std::int64_t>()) return std::to_string(*whole);
    if (auto value = n->value_exact<std::string>(); value && !value->empty()) return value;
    wrong(*n, fmt::format("'{}' must be text", key));
  }
  bool flag(std::string_view key) {
    auto const* const n = node(key);
    if (n == nullptr) return false;
    if (auto const value = n->value_exact<bool>()) return *value;
    wrong(*n, fmt::format("'{}' must be true or false", key));
  }
  std::vector<std::string> texts(std::string_view key) {
    auto const* const n = node(key);
    if (n == nullptr) return {};
    std::vector<std::string> all;
    if (auto const* const list = n->as_array())
      for (auto const& element : *list)
        if (auto const value = element.value_exact<std::string>())
          all.push_back(*value);
        else
          wrong(element, fmt::format("'{}' must be a list of texts", key));
    else
      wrong(*n, fmt::format("'{}' must be a list of texts", key));
    return all;
  }
  pacing_words pacing() {
    return {.rate = text("rate"),
            .concurrency = text("concurrency"),
            .leave = text("leave"),
            .law = text("law"),
            .profile = text("profile"),
            .wait_max = text("wait-max"),
            .attempts_max = text("attempts-max"),
            .retry_budget = text("retry-budget"),
            .quotas = texts("quota")};
  }
  void nothing_else() const {
    for (auto const& [key, value] : table_)
      if (std::ranges::find(asked_, key.str()) == asked_.end())
        wrong(value,
              fmt::format("no key {}{}", in_quotes(key.str()), did_you_mean(key.str(), asked_)));
  }

 private:
  toml::table const& table_;
  std::string file_;
  std::vector<std::string> asked_;
};

/// Sets what the URL says. Errors: fatal(exit_usage).
void read_url(upstream_config& u, std::string const& where) {
  if (u.url.find("://") == u.url.npos)
    throw fatal(exit_usage, where + ": want http://… or https://…");
  auto const to = destination_of(u.url);
  if (to.origin.empty()) throw fatal(exit_usage, fmt::format("{}: {}", where, to.problem));
  if (u.url.find_first_of("?#") != u.url.npos)
    throw fatal(exit_usage, where + ": url has a query or a fragment; want none");
  u.origin = to.origin;
  auto const path = u.url.find('/', u.url.find("://") + 3);
  if (path != u.url.npos) u.path = u.url.substr(path);
  while (u.path.ends_with('/')) u.path.pop_back();
}

void check_name(std::string const& name, std::string const& where) {
  auto const good = !name.empty() && name.size() <= 100 && std::ranges::all_of(name, [](char c) {
    return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
  });
  if (!good)
    throw fatal(exit_usage, fmt::format("{}: name {}: want 1 to 100 letters, digits, '-', '_', '.'",
                                        where, in_quotes(name)));
}

bool parse_host_header(std::string_view text) {
  if (text == "client") return true;
  if (text == "upstream") return false;
  throw std::invalid_argument("want upstream or client");
}

upstream_config read_upstream(toml::table const& table, std::string const& file,
                              pacing_words const& common) {
  section in(table, file);
  auto const where = fmt::format("{}:{}", file, table.source().begin.line);
  upstream_config u;
  u.url = in.text("url").value_or("");
  if (u.url.empty()) throw fatal(exit_usage, where + ": an upstream wants url = \"https://…\"");
  read_url(u, where);
  u.name = std::string(host_of(u.origin));
  if (auto const name = in.text("name")) check_name(u.name = *name, where);
  u.prefix = in.text("prefix").value_or("");
  while (u.prefix.ends_with('/')) u.prefix.pop_back();
  auto const odd = [](char c) { return c <= ' ' || c > '~' || c == '?' || c == '#'; };
  if (!u.prefix.empty() && (!u.prefix.starts_with('/') || std::ranges::any_of(u.prefix, odd)))
    throw fatal(exit_usage, where + ": prefix wants to begin with a slash, as \"/openai\"");
  u.host = lower(in.text("host").value_or(""));
  u.via_http_proxy = in.flag("via-http-proxy");
  u.header_words = in.texts("headers");
  u.header_commands = in.texts("header-cmd");
  if (auto const ttl = in.text("header-ttl"))
    u.header_ttl = option_value(where + ": header-ttl", *ttl, parse_ttl);
  u.ca_file = in.text("cacert").value_or("");
  if (auto const host = in.text("host-header"))
    u.client_host = option_value(where + ": host-header", *host, parse_host_header);
  u.words = in.pacing().over(common);
  in.nothing_else();
  return u;
}

/// "NAME=URL", or a URL.
upstream_config read_option(std::string const& text) {
  upstream_config u;
  auto const equals = text.find('=');
  auto const named = equals != text.npos && equals < text.find("://");
  u.url = named ? text.substr(equals + 1) : text;
  auto const where = "--upstream " + (text.find('@') == text.npos ? in_quotes(text) : "(hidden)");
  read_url(u, where);
  u.name = std::string(host_of(u.origin));
  if (named) check_name(u.name = text.substr(0, equals), where);
  return u;
}

/// Calls `f`; its errors tell where in a file the cause is. "": it is in no file.
template <class F>
void within(std::string const& where, F f) {
  try {
    f();
  } catch (fatal const& e) {
    if (where.empty() || std::string_view(e.what()).starts_with(where)) throw;
    throw fatal(e.code, fmt::format("{}: {}", where, e.what()));
  }
}

/// A request can reach each of them, and only one.
void check_routes(std::vector<upstream_config> const& all) {
  auto const several = all.size() > 1;
  std::set<std::string> names, prefixes, hosts, origins;
  for (auto const& u : all) {
    if (!names.insert(u.name).second)
      throw fatal(exit_usage,
                  fmt::format("two upstreams have the name {}; want one of its own for each: "
                              "NAME=URL, or name in --config",
                              in_quotes(u.name)));
    if (several && u.prefix.empty() && u.host.empty() && !u.via_http_proxy)
      throw fatal(exit_usage,
                  fmt::format("no request can reach upstream {}: of several, each wants prefix, "
                              "host or via-http-proxy",
                              in_quotes(u.name)));
    if (!u.host.empty() && !is_authority(u.host))
      throw fatal(exit_usage,
                  fmt::format("no request can reach upstream {}: its host {} is no host",
                              in_quotes(u.name), in_quotes(u.host)));
    if (!u.prefix.empty() && !prefixes.insert(u.prefix).second)
      throw fatal(exit_usage, fmt::format("no request can reach upstream {}: another has the "
                                          "prefix {}",
                                          in_quotes(u.name), in_quotes(u.prefix)));
    if (u.prefix.empty() && !u.host.empty() && !hosts.insert(u.host).second)
      throw fatal(exit_usage,
                  fmt::format("no request can reach upstream {}: another has the host {}",
                              in_quotes(u.name), in_quotes(u.host)));
    if (u.via_http_proxy && !origins.insert(u.origin).second)
      throw fatal(exit_usage, fmt::format("two upstreams of via-http-proxy are {}", u.origin));
  }
}

/// Beyond this machine, a credential of ours and our state are for requests with a token.
void check_exposure(config const& c) {
  if (!c.listen.is_loopback() && c.adds_credentials() && c.client_token.empty())
    throw fatal(exit_usage,
                fmt::format("--listen {}: others could spend the credentials that the proxy adds; "
                            "want --client-token-file, or a loopback address",
                            c.listen.text()));
  if (c.admin && !c.admin->is_loopback() && c.admin_token.empty())
    throw fatal(exit_usage, fmt::format("--admin {}: others could read it; want "
                                        "--admin-token-file, or a loopback address",
                                        c.admin->text()));
}

/// Adds what is written to the files that are `read`: none of them may be the same.
void check_files(named_files read, config const& c) {
  for (auto const& u : c.upstreams) {
    read.add("the file of --cacert", u.ca_file, false);
    if (auto const& name = u.words.profile; name && name->find_first_of("./") != name->npos)
      read.add("the file of --profile", *name, false);
  }
  if (c.access_log != "-") read.add_written("--access-log", c.access_log);
  if (auto const& u = c.upstreams.front(); !u.cold)
    read.add_written("--state", followed(u.state.empty() ? memory::default_path() : u.state),
                     {".new", ".lock"});
  read.check_standard_streams();
}

}  // namespace

pacing_words pacing_words::over(pacing_words const& others) const {
  auto const of = [](auto const& ours, auto const& theirs) { return ours ? ours : theirs; };
  return {.rate = of(rate, others.rate),
          .concurrency = of(concurrency, others.concurrency),
          .leave = of(leave, others.leave),
          .law = of(law, others.law),
          .profile = of(profile, others.profile),
          .wait_max = of(wait_max, others.wait_max),
          .attempts_max = of(attempts_max, others.attempts_max),
          .retry_budget = of(retry_budget, others.retry_budget),
          .quotas = quotas.empty() ? others.quotas : quotas};
}

bool config::adds_credentials() const noexcept {
  return std::ranges::any_of(upstreams, [](auto const& u) { return !u.headers.empty(); });
}

config read_config(config_words const& w) {
  toml::table root;
  if (!w.file.empty()) try {
      root = toml::parse(read_file(w.file, "--config"), w.file);
    } catch (toml::parse_error const& e) {
      throw fatal(exit_usage,
                  fmt::format("{}:{}: {}", w.file, e.source().begin.line, e.description()));
    }
  section in(root, w.file);
  config c;
  auto const said = [&](std::optional<std::string> const& option, std::string_view key) {
    auto in_file = in.text(key);  // asked for in any case
    return option ? option : in_file;
  };
  auto const set = [&](auto& to, auto const& option, std::string_view key, auto parse) {
    if (auto const value = said(option, key))
      to = option_value((option ? "--" : w.file + ": ") + std::string(key), *value, parse);
  };
  auto const path = [](std::string_view text) { return std::string(text); };
  set(c.listen, w.listen, "listen", address::parse);
  set(c.admin, w.admin, "admin", [](std::string_view text) {
    return text == "none" ? std::optional<address>() : address::parse(text);
  });
  upstream_config common;
  set(common.queue_max, w.queue, "queue", parse_count);
  set(c.body_max, w.body_max, "body-max", parse_bytes);
  set(c.hold_max, w.hold_max, "hold-max", parse_bytes);
  set(c.connections_max, w.connections, "connections", parse_count);
  set(c.access_log, w.access_log, "access-log", path);
  set(c.drain, w.drain, "drain", parse_time);
  set(c.hard_stop, w.hard_stop, "hard-stop-after",
      [](std::string_view text) { return std::optional(parse_time(text)); });
  set(common.state, w.state, "state", path);
  std::string ca_file, admin_token, client_token;
  bool client_host = false;
  set(ca_file, w.cacert, "cacert", path);
  set(client_host, w.host_header, "host-header", parse_host_header);
  set(admin_token, w.admin_token_file, "admin-token-file", path);
  set(client_token, w.client_token_file, "client-token-file", path);
  auto const of = [&](bool option) { return option ? std::string() : w.file; };
  within(of(w.admin_token_file.has_value()), [&] {
    if (!admin_token.empty()) c.admin_token = read_token(admin_token, "--admin-token-file");
  });
  within(of(w.client_token_file.has_value()), [&] {
    if (!client_token.empty()) c.client_token = read_token(client_token, "--client-token-file");
  });
  named_files files;
  files.add("the file of --config", w.file, false);
  files.add("the file of --admin-token-file", admin_token, false);
  files.add("the file of --client-token-file", client_token, false);
  c.admin_hosts = in.texts("admin-hosts");
  c.retry_unsafe = in.flag("retry-unsafe") || w.retry_unsafe;
  common.cold = in.flag("cold") || w.cold;
  common.alone = in.flag("alone") || w.alone;
  std::string database;
  set(database, w.limit_at, "limit-at", path);
  c.limit = checked_limit_at(database, {.alone = common.alone});
  if (!w.limit_at) c.limit.from_arguments = false;  // a file is not for all to read
  within(of(w.body_max && w.hold_max), [&] {
    if (c.body_max > c.hold_max)
      throw fatal(exit_usage, "--body-max is more than --hold-max; want at most that");
  });

  auto const of_file = in.pacing();
  auto const header_words = in.texts("headers");
  std::vector<std::string> places;  // of upstreams, in the file
  if (auto const* const list = in.node("upstream")) {
    auto const* const tables = list->as_array();
    if (tables == nullptr || !list->is_array_of_tables())
      in.wrong(*list, "upstreams are written as [[upstream]]");
    for (auto const& each : *tables) {
      c.upstreams.push_back(read_upstream(*each.as_table(), w.file, of_file));
      places.push_back(fmt::format("{}:{}", w.file, each.source().begin.line));
    }
  }
  in.nothing_else();
  for (auto const& text : w.upstreams) {
    c.upstreams.push_back(read_option(text));
    c.upstreams.back().words = of_file;
  }
  if (w.upstreams.size() > 1 || c.upstreams.size() > w.upstreams.size())
    for (auto& u : c.upstreams)
      if (u.prefix.empty() && u.host.empty() && !u.via_http_proxy && !w.upstreams.empty())
        u.prefix = '/' + u.name;
  if (c.upstreams.empty())
    throw fatal(exit_usage, "want a server: --upstream https://…, or [[upstream]] in --config");
  within(of(!w.upstreams.empty()), [&] { check_routes(c.upstreams); });
  places.resize(c.upstreams.size(), w.file);  // the rest are options, with the file's settings
  for (auto& u : c.upstreams) {
    auto const& place = places[static_cast<std::size_t>(&u - c.upstreams.data())];
    within(place, [&] { static_cast<void>(settings_of(u)); });
    u.words = w.pacing.over(u.words);
    u.queue_max = common.queue_max;
    u.state = common.state;
    u.cold = common.cold;
    u.alone = common.alone;
    u.client_host |= client_host;
    if (w.cacert || u.ca_file.empty()) u.ca_file = ca_file;
    within(w.cacert ? "" : place, [&] {
      if (!u.ca_file.empty() && access(u.ca_file.c_str(), R_OK) != 0)
        throw fatal(exit_usage,
                    fmt::format("--cacert {}: {}", in_quotes(u.ca_file), std::strerror(errno)));
    });
    auto const& own = u.header_words.empty() ? header_words : u.header_words;
    for (auto const* const lines : {&own, &w.headers})
      for (auto const& line : *lines)
        if (line.starts_with('@')) files.add("the file of --header", line.substr(1), false);
    within(place, [&] { u.headers = expand_headers(own); });
    for (auto& line : expand_headers(w.headers)) u.headers.push_back(std::move(line));
    u.header_commands.insert(u.header_commands.end(), w.header_commands.begin(),
                             w.header_commands.end());
    if (w.header_ttl) u.header_ttl = option_value("--header-ttl", *w.header_ttl, parse_ttl);
    within(w.header_ttl ? "" : place, [&] {
      if (u.header_ttl && u.header_commands.empty())
        throw fatal(exit_usage, fmt::format("upstream {}: header-ttl is for header-cmd", u.name));
    });
    for (auto const& line : header_commands::stand_ins_of(u.header_commands))
      u.headers.push_back(line);
    within(w.headers.empty() && w.header_commands.empty() ? place : "", [&] {
      for (auto const& line : u.headers)
        if (!may_be_added(name_of(line)))
          throw fatal(
              exit_usage,
              fmt::format("upstream {}: header {} is for the proxy to write; want it left out",
                          u.name, in_quotes(name_of(line))));
    });
    auto const paced = settings_of(u);  // or it is wrong now
    static_cast<void>(checked_limit_at(c.limit.url, {.alone = u.alone, .law = &paced.law}));
  }
  if (c.upstreams.size() > 1 && (!w.headers.empty() || !w.header_commands.empty()))
    throw fatal(exit_usage, fmt::format("--{0} is for one upstream; want {1} = […] in --config",
                                        w.headers.empty() ? "header-cmd" : "header",
                                        w.headers.empty() ? "header-cmd" : "headers"));
  check_exposure(c);
  check_files(std::move(files), c);
  return c;
}

pacing_settings settings_of(upstream_config const& u) {
  auto const& w = u.words;
  auto const named = [&](std::string_view key) {
    return fmt::format("upstream {}: {}", u.name, key);
  };
  pacing_settings s;
  s.law = law_named(w.law.value_or(std::string(shipped_laws().front().name)));
  if (w.leave) {
    auto const share = option_value(named("leave"), *w.leave, parse_share);
    if (share > 0.95) throw fatal(exit_usage, named("leave") + " is from 0% to 95%");
    if (!leave(s.law.law, share))
      throw fatal(exit_usage, named("leave") + " is for the default law only");
  }
  auto& g = s.governor;
  g.attempts_max = static_cast<int>(
      option_value(named("attempts-max"), w.attempts_max.value_or("2"), parse_count));
  g.queue_max = std::numeric_limits<std::size_t>::max();  // the queue before it has the bound
  g.hint_max = option_value(named("wait-max"), w.wait_max.value_or("15min"), parse_bound);
  g.throttled = s.law.throttled;
  if (w.rate) g.rate_ceiling = option_value(named("rate"), *w.rate, parse_ceiling);
  if (w.concurrency)
    g.in_flight_max = option_value(named("concurrency"), *w.concurrency, parse_concurrency);
  g.budget = option_value(named("retry-budget"), w.retry_budget.value_or("20%,10/s"), parse_budget);
  for (auto const& quota : w.quotas)
    s.quotas.push_back(option_value(named("quota"), quota, parse_quota));
  if (w.profile) s.speaks = profile::named(*w.profile);
  s.state = u.state;
  s.alone = u.alone;
  s.hold_max = std::max(g.hint_max, hold_believed);
  s.fleet = u.fleet;
  s.in_flight_most = governor_settings{}.in_flight_max;
  return s;
}

}  // namespace headway::app::proxy
