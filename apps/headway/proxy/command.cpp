/// `headway proxy`: its options.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "command.hpp"
#include "pacing/laws.hpp"
#include "provider/profile.hpp"
#include "proxy/config.hpp"
#include "proxy/service.hpp"

namespace headway::app {

void add_proxy(CLI::App& program, action& chosen) {
  auto const w = std::make_shared<proxy::config_words>();
  auto* const sub = program.add_subcommand(
      "proxy",
      "Stands before an API and lets requests wait instead of being refused.\n\n"
      "  headway proxy --upstream https://api.openai.com\n"
      "  OPENAI_BASE_URL=http://127.0.0.1:8080/v1 python3 app.py\n\n"
      "Point the base URL of any client here: its requests go on as fast as the API lets them, a\n"
      "refused one is sent again, and the page at --admin shows what waits and why.\n"
      "Exit codes: 0 stopped and all was answered, 2 usage or configuration error, 74 the access "
      "log cannot be opened, 130/143 stopped before all was answered.");
  auto const option = [&](char const* name, auto& value, char const* type,
                          std::string const& what) {
    return sub->add_option(name, value, what)->type_name(type);
  };
  auto const list = [&](char const* name, auto& value, char const* type, std::string const& what) {
    return option(name, value, type, what)->take_all()->expected(1);
  };
  list("--upstream", w->upstreams, "[NAME=]URL",
       "Send requests to this server; of several each has a NAME, and its path begins with /NAME/");
  option("--config", w->file, "FILE", "Read upstreams and settings from this TOML file")
      ->check(CLI::ExistingFile);
  option("--listen", w->listen, "ADDRESS:PORT",
         "Listen here; port 0 is any free one [127.0.0.1:8080]");
  option("--admin", w->admin, "ADDRESS:PORT",
         "Serve the dashboard, /api/state, /metrics and /healthz here, or none [127.0.0.1:8081]");
  option("--rate", w->pacing.rate, "RATE",
         "Send no faster than this: 50/s, 15/min, 15/min:5 with bursts of 5");
  option("--concurrency", w->pacing.concurrency, "N",
         "Keep at most this many requests in flight, 1 to 60000");
  list("--quota", w->pacing.quotas, "QUOTA",
       "Spend no faster than this, as tokens=90k/min; costs are learned, or given by "
       "X-Headway-Cost");
  option("--leave", w->pacing.leave, "SHARE",
         "Stay this far below the limit, as 30%, and yield to others");
  auto* const law = option("--law", w->pacing.law, "LAW",
                           fmt::format("Control law that finds the limit: {} [{}]", law_names(),
                                       names_of_laws().front()));
  offered()[law] = names_of_laws;
  auto* const speaks =
      option("--profile", w->pacing.profile, "PROFILE",
             fmt::format("Understand how this provider says 'slow down': {}, or a file [by host, "
                         "else generic]",
                         fmt::join(profile::names(), ", ")));
  offered()[speaks] = profile::names;
  auto* const state =
      option("--state", w->state, "FILE",
             "Keep in this file what is learned of limits [XDG_STATE_HOME/headway/limits.json]");
  sub->add_flag("--cold", w->cold, "Ignore what was learned earlier, and keep nothing")
      ->excludes(state);
  sub->add_flag("--alone", w->alone,
                "Share no pace with runs and proxies of this user and machine that call the same "
                "API");
  if (offers_limit_at()) option("--limit-at", w->limit_at, "URL", limit_at_help);
  option("--wait-max", w->pacing.wait_max, "TIME",
         "Answer 503 if a request would wait for longer than this [15min]");
  option("--attempts-max", w->pacing.attempts_max, "N",
         "Give a request up after this many failures; throttles never count [2]");
  option("--retry-budget", w->pacing.retry_budget, "BUDGET",
         "Limit retries of what broke to a share of successes, and so many a second besides "
         "[20%,10/s]");
  sub->add_flag("--retry-unsafe", w->retry_unsafe,
                "Repeat non-idempotent requests, too, that may have been carried out");
  option("--queue", w->queue, "N", "Let at most this many requests wait for an upstream [1000]");
  option("--body-max", w->body_max, "BYTES", "Refuse longer request bodies with 413 [64MiB]");
  option("--hold-max", w->hold_max, "BYTES",
         "Memory for the bodies of requests that wait; then they are not read [256MiB]");
  option("--connections", w->connections, "N",
         "Serve at most this many clients at once; others wait to be accepted [4096]");
  list("--header", w->headers, "HEADER",
       "Add 'Name: value' with ${env:NAME}, or the lines of @FILE, in place of the client's");
  list("--header-cmd", w->header_commands, "HEADER",
       "Add 'Name: $(COMMAND)' with the line that COMMAND prints; COMMAND runs again after a 401");
  option("--header-ttl", w->header_ttl, "TIME",
         "Run --header-cmd again each time this is over, as 50min");
  option("--host-header", w->host_header, "WHOSE",
         "Send the Host of the upstream, or the client's [upstream]");
  option("--cacert", w->cacert, "FILE",
         "Trust the certificates in this file instead of the system's")
      ->check(CLI::ExistingFile);
  option("--client-token-file", w->client_token_file, "FILE",
         "Serve only clients that show the token in this file, which only its owner can read");
  option("--admin-token-file", w->admin_token_file, "FILE",
         "Serve the admin address only where this token is shown, as a password or Bearer");
  option("--access-log", w->access_log, "FILE",
         "Write a JSON line for each request, without query, headers or bodies; - is standard "
         "output");
  option("--drain", w->drain, "TIME",
         "Let requests wait this long after SIGTERM, then answer 503 [30s]");
  option("--hard-stop-after", w->hard_stop, "TIME",
         "End this long after SIGTERM, whatever is still in flight [when all is answered]");
  sub->callback([w, &chosen] {
    chosen = [w] {
      auto const read = [w] { return proxy::read_config(*w); };
      return proxy::service(read(), read).run();
    };
  });
}

}  // namespace headway::app
