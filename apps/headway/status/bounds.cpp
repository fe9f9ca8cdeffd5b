#include "status/bounds.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>

#include "base/quantity.hpp"

namespace headway::app {
namespace {

constexpr std::int64_t share_of_least = 20;  // results that tell a share while a run goes on

}  // namespace

std::optional<std::string> bounds::stops(standing const& s) const {
  for (auto const& t : stop_if)
    if (auto const words = t.crossed_by(s, share_of_least))
      return fmt::format("{} ({})", t.text, *words);
  return std::nullopt;
}

std::optional<std::string> bounds::fails(standing const& s) const {
  for (auto const& t : fail_if)
    if (auto const words = t.crossed_by(s, 1))
      return fmt::format("--fail-if {}: {}", t.text, *words);
  return std::nullopt;
}

bounds_options::bounds_options(CLI::App& command, std::string const& no_canary) {
  command.add_flag("--no-canary", texts_->no_canary, no_canary);
  command
      .add_option("--stop-if", texts_->stop_if,
                  "Stop with exit 77 as soon as 'failed>50', 'unknown>0' or 'throttled>20%' holds")
      ->take_all()
      ->expected(1);
  command
      .add_option("--fail-if", texts_->fail_if,
                  "Exit 3 at the end if 'throttled>1%' or the like holds")
      ->take_all()
      ->expected(1);
}

bounds bounds_options::read() const {
  bounds b;
  b.canary = !texts_->no_canary;
  for (auto const& text : texts_->stop_if)
    b.stop_if.push_back(option_value("--stop-if", text, threshold::parse));
  for (auto const& text : texts_->fail_if)
    b.fail_if.push_back(option_value("--fail-if", text, threshold::parse));
  return b;
}

}  // namespace headway::app
