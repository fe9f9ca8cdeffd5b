#include "client/header_commands.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "client/headers.hpp"

namespace headway::app {
namespace {

constexpr std::size_t value_bytes_max = 16 * 1024;
constexpr duration round_max = 1min;
constexpr duration pause_min = 1s, pause_max = 1min;

// A control character, which no header of JOBS or --header may have.
constexpr char mark = '\x01';

constexpr std::string_view command_in = "HEADWAY_HEADER_COMMAND=";
constexpr char run_variable[] = "eval \"unset HEADWAY_HEADER_COMMAND\n$HEADWAY_HEADER_COMMAND\"";

duration pause_after(int failures) noexcept {
  return failures > 6 ? pause_max
                      : std::min(pause_max, pause_min * (1 << std::max(failures - 1, 0)));
}

}  // namespace

header_commands::header_commands(poller& events, std::span<std::string const> options,
                                 std::optional<duration> ttl)
    : events_(events), ttl_(ttl), all_(parsed(options)) {
  if (all_.empty()) due_ = never;
}

std::vector<header_commands::one> header_commands::parsed(std::span<std::string const> options) {
  std::vector<one> all;
  for (std::string_view const option : options) {
    auto const colon = option.find(':');
    auto const open = option.find("$(");
    auto const close = option.rfind(')');
    if (colon == option.npos || open == option.npos || close == option.npos || colon > open ||
        close < open || trimmed(option.substr(open + 2, close - open - 2)).empty())
      throw fatal(exit_usage, "--header-cmd: want 'Name: $(COMMAND)', in single quotes");
    one o{.name = std::string(option.substr(0, colon)),
          .before = std::string(option.substr(colon + 1, open - colon - 1)),
          .command = std::string(option.substr(open + 2, close - open - 2)),
          .after = std::string(option.substr(close + 1))};
    if (auto const wrong = header_problem(o.name, o.before + o.after); !wrong.empty())
      throw fatal(exit_usage, fmt::format("--header-cmd: header {} {}", in_quotes(o.name), wrong));
    all.push_back(std::move(o));
  }
  return all;
}

std::vector<std::string> header_commands::stand_ins(std::span<one const> all) {
  std::vector<std::string> lines;
  for (auto const& o : all) lines.push_back(fmt::format("{}:{}{}", o.name, mark, lines.size()));
  return lines;
}

bool header_commands::needed_by(std::span<std::string const> lines) noexcept {
  return std::ranges::any_of(lines, [](auto const& line) { return line.find(mark) != line.npos; });
}

std::vector<std::string> header_commands::filled(std::span<std::string const> lines) const {
  std::vector<std::string> all(lines.begin(), lines.end());
  for (auto& line : all)
    if (auto const at = line.find(mark); at != line.npos) {
      auto const& o = all_[std::stoul(line.substr(at + 1))];
      line = fmt::format("{}: {}", o.name, trimmed(o.before + o.value + o.after));
    }
  return all;
}

void header_commands::refuse(std::uint64_t generation) noexcept {
  if (refused_ || generation != generation_) return;
  refused_ = true;
  if (failures_ == 0) due_ = std::min(due_, later(began_, pause_min));
}

bool header_commands::ready(poller::event const& e) {
  for (auto& o : all_) {
    if (o.child && e.fd == o.child->output()) {
      listen(o);
    } else if (o.child && e.fd == o.child->end()) {
      reap(o);
    } else {
      continue;
    }
    if (!running()) conclude(clock_now());
    return true;
  }
  return false;
}

bool header_commands::flush(time_point now) {
  if (running() && now >= until_) {
    for (auto& o : all_)
      if (o.child) fail(o, fmt::format("did not end within {}", in_words(round_max)));
    conclude(now);
  } else if (!running() && now >= due_) {
    began_ = now;
    until_ = later(now, round_max);
    failed_ = false;
    for (auto& o : all_) start(o);
    if (!running()) conclude(now);
  }
  return std::exchange(told_, generation_) != generation_;
}

bool header_commands::running() const noexcept {
  return std::ranges::any_of(all_, [](auto const& o) { return o.child != nullptr; });
}

void header_commands::start(one& o) {
  o.said.clear();
  // All users see a process's arguments, none but its owner its environment.
  std::vector<std::string> environment;
  for (char** pair = environ; *pair != nullptr; ++pair)
    if (!std::string_view(*pair).starts_with(command_in)) environment.emplace_back(*pair);
  environment.push_back(std::string(command_in) + o.command);
  try {
    o.child = std::make_unique<process>(
        events_, "/bin/sh", std::vector<std::string>{"sh", "-c", run_variable}, environment);
  } catch (std::system_error const& e) {
    fail(o, e.code().message());
  }
}

void header_commands::listen(one& o) {
  if (!o.child->read(o.said, value_bytes_max))
    fail(o, fmt::format("printed more than {} KiB", value_bytes_max / 1024));
}

void header_commands::reap(one& o) {
  listen(o);  // something that it left running may hold the pipe open
  auto const status = o.child ? o.child->status() : std::nullopt;
  if (!status) return;
  auto const said = trimmed(o.said, " \t\r\n");
  std::string why;
  if (WIFSIGNALED(*status))
    why = fmt::format("was ended by signal {}", WTERMSIG(*status));
  else if (WEXITSTATUS(*status) != 0)
    why = fmt::format("failed with exit code {}", WEXITSTATUS(*status));
  else if (said.empty())
    why = "printed nothing";
  else if (said.find('\n') != said.npos)
    why = "printed more than one line";
  else if (!header_problem(o.name, said).empty())
    why = "printed a control character";
  if (!why.empty()) return fail(o, why);
  o.said = said;
  o.child.reset();
}

void header_commands::fail(one const& o, std::string_view why) {
  failed_ = true;
  problem_ = fmt::format("--header-cmd: the command for {} {}", o.name, why);
  for (auto& any : all_) any.child.reset();
}

void header_commands::conclude(time_point now) {
  if (failed_) {
    due_ = later(now, pause_after(++failures_));
    return;
  }
  for (auto& o : all_) o.value = std::move(o.said);
  ++generation_;
  failures_ = 0;
  refused_ = false;
  due_ = ttl_ ? later(now, *ttl_) : never;
}

}  // namespace headway::app
