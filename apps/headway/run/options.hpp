/// What `headway run` was asked to do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/outcomes.hpp"
#include "base/statuses.hpp"
#include "client/transport.hpp"
#include "headway/budget/retry_budget.hpp"
#include "headway/law/shipped.hpp"
#include "headway/pacer/gcra.hpp"
#include "hosts/limit_at.hpp"
#include "jobs/job.hpp"
#include "journal/journal.hpp"
#include "journal/result.hpp"
#include "pacing/quota_book.hpp"
#include "pacing/settings.hpp"
#include "provider/price.hpp"
#include "provider/profile.hpp"
#include "status/bounds.hpp"
#include "status/progress.hpp"

namespace headway::app {

/// A queue in a database, which several hosts work on.
struct queue_options {
  std::string url{};            ///< of the database, "": there is no queue
  bool from_arguments = false;  ///< which all users of this machine can read
  std::string join{};           ///< the queue's name; "": JOBS is uploaded
  bool collects = false;        ///< its results, into --out
  duration lease = 30s;         ///< of lines

  explicit operator bool() const noexcept { return !url.empty(); }
};

struct run_options {
  std::string jobs;     ///< a path, or "-"
  std::string out;      ///< a path, or "-" for standard output
  std::string table;    ///< a path for the records with what came of them, "": none
  std::string journal;  ///< "": none
  queue_options queue{};
  durability level = durability::power;
  std::string base_url;
  std::string url;                         ///< as --url gives it, "": none
  std::optional<std::string> body;         ///< as --body gives it
  std::optional<std::string> body_text{};  ///< what it stands for; nullopt: that is not read yet
  std::string method;                      ///< as --method gives it, "": none
  line_format format = line_format::automatic;
  std::vector<std::string> headers;          ///< as --header gives them
  std::vector<std::string> header_commands;  ///< as --header-cmd gives them
  std::optional<duration> header_ttl{};      ///< of what they print
  std::vector<std::string> header_hosts;     ///< as --header-for gives them
  shipped_law law = shipped_laws().front();
  std::string state;   ///< what was learned, a path; "" is the default one
  bool cold = false;   ///< neither read nor kept
  bool alone = false;  ///< else one limit with all runs of this user on this machine
  limit_at fleet{};    ///< of many hosts
  std::optional<gcra> rate_ceiling{};
  std::vector<host_ceiling> hosts{};   ///< of the scopes of some hosts
  std::vector<quota_ceiling> quotas;   ///< of every scope
  std::vector<quota_units> spend_max;  ///< of all runs of the journal
  std::vector<price> prices;           ///< beside those of the profile
  int concurrency_ceiling = 0;         ///< 0: none
  std::string failed;                  ///< a path for the lines that did not succeed, "": none
  std::vector<final_outcome> again;    ///< of earlier runs, to be done again
  std::vector<selection> select;       ///< what is kept of a success's body; none: all
  std::string id;                      ///< as --id gives it, "": the line's own
  std::vector<std::string> meta;       ///< fields that results carry; one that is "": all
  std::string out_name;                ///< of a body's file there, as --out-name gives it
  bool raw = false;                    ///< bodies to standard output, and no results
  std::string out_dir;                 ///< a folder for the bodies, "": they are in the results
  bounds may{};                        ///< go wrong
  statuses ok{};                       ///< what a success answers
  std::string ok_text = "200-299";     ///< as --ok gives it
  std::int64_t only = 0;               ///< requests of JOBS, the first ones; 0: all
  bool out_headers = false;            ///< the answer's header is in the result
  bool keep_order = false;             ///< of JOBS, in the results once the run is over
  int redirects_max = 5;               ///< followed for a request
  int attempts_max = governor_settings{}.attempts_max;
  retry_budget budget{};  ///< of every scope
  duration wait_max = 15min;
  duration request_deadline = 1h;
  std::optional<duration> timeout{};  ///< of an attempt, where its line has none
  std::optional<duration> time_max{};
  bool retry_unsafe = false;
  bool dry_run = false;
  progress_style progress = progress_style::automatic;
  bool quiet = false;   ///< no progress, but the summary
  std::string trace;    ///< a path, "": none
  std::string metrics;  ///< as --metrics gives it, "": none
  transport_options http{};
  std::optional<profile> speaks{};  ///< of all scopes; else each by its host
};

/// Returns what --body stands for, if it is given.
std::optional<std::string> body_of(run_options const&);

/// Returns what the lanes of a run are made from. `fleet`: hosts that it shares its limits with, or
/// null.
pacing_settings pacing_of(run_options const&, std::shared_ptr<fleet_link> fleet);

}  // namespace headway::app
