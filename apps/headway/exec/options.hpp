/// What `headway exec` was asked to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/outcomes.hpp"
#include "exec/command_profile.hpp"
#include "exec/input.hpp"
#include "headway/law/shipped.hpp"
#include "headway/pacer/gcra.hpp"
#include "hosts/limit_at.hpp"
#include "pacing/quota_book.hpp"
#include "status/bounds.hpp"
#include "status/progress.hpp"

namespace headway::app {

/// --halt as GNU parallel has it: when so many jobs have ended so.
struct halt_rule {
  enum class kind : std::uint8_t { fail, success, done };

  bool now = false;  ///< what runs is ended, too
  kind what = kind::fail;
  double limit = 0;    ///< in percent where it is a share; 0: never
  bool share = false;  ///< of all jobs
  std::string text{};  ///< as it was given

  /// "never", "soon,fail=1", "now,success=3", "soon,fail=20%", "2". Throws std::invalid_argument.
  static halt_rule parse(std::string_view text);
  bool met(standing const&) const noexcept;
};

struct exec_options {
  std::vector<std::string> command;
  bool shell = false;
  input_settings input{};
  std::string stdin_field;               ///< a template, "": jobs have no input
  std::vector<std::string> files;        ///< that `input` was read from already
  std::vector<std::string> environment;  ///< NAME=TEMPLATE, NAME=@FILE
  std::string name;                      ///< of the lane, "": the program's
  std::string scope;                     ///< a template, "": one for all jobs

  std::string out;      ///< results: a path, "-" for standard output, "": none
  std::string journal;  ///< "": none
  durability level = durability::power;
  std::string out_dir;       ///< a folder for the outputs, "": they are printed
  std::string attempts_dir;  ///< a folder for the outputs of all attempts, "": none
  std::string job_log;       ///< a path, "": none
  std::string failed;        ///< a path for the lines that did not succeed, "": none
  std::vector<final_outcome> again;
  bool keep_order = false, tag = false, no_print = false;

  std::optional<command_profile> speaks{};  ///< else by the program
  throttle_options throttle{};
  bool safe = false, detach_ok = false;
  std::optional<duration> timeout{};
  std::optional<halt_rule> halt{};
  int attempts_max = 0;  ///< 0: one, but what is known to pass may go again where that is safe
  duration wait_max = 15min;
  std::optional<duration> time_max{};

  std::optional<shipped_law> law{};
  std::optional<gcra> rate_ceiling{};
  std::vector<quota_ceiling> quotas;
  int concurrency = 0;  ///< 0: as many as the machine carries
  std::string state;
  bool cold = false, alone = false;
  limit_at fleet{};  ///< of many hosts

  bounds may{};  ///< go wrong
  bool exit_failures = false;
  bool dry_run = false;
  progress_style progress = progress_style::automatic;
  bool quiet = false;
  std::string trace;
  std::string metrics;  ///< as --metrics gives it, "": none
};

}  // namespace headway::app
