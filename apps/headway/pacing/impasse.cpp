#include "pacing/impasse.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/words.hpp"

namespace headway::app {
namespace {

constexpr duration reach_gap = 250ms, reach_gap_max = 5s;  // no server is there to be bothered
constexpr duration refused_gap = 1s, refused_gap_max = 1min;
constexpr duration failing_gap = 100ms;
constexpr int gap_share = 8;  // of the time since it fails; 4: 60 bad lines take 160 s, not 62

}  // namespace

void impasse::unreached(time_point now, time_point sent, std::string_view why, bool futile) {
  silence_.go_on(sent);
  why_ = why;
  futile_ = futile;
  if (hold_)
    probe_failed(now, sent, reach_gap_max);
  else
    begin(now, reach_gap);
}

void impasse::heard() noexcept {
  if (!silent()) return;
  silence_.end();
  hold_.reset();
}

void impasse::failed(time_point now, time_point sent, bool first, std::string_view why,
                     duration patience) {
  if (silent() || answers_) return;
  if (first) ++failed_;
  why_ = why;
  patience_ = patience;
  if (!hold_) {
    if (failed_ >= failed_lines) begin(now, std::min(failing_gap, patience));
    return;
  }
  if (sent < hold_->since) return;
  ++hold_->probes;
  hold_->until =
      later(now, std::clamp((now - hold_->since) / gap_share, failing_gap, reach_gap_max));
}

void impasse::answered() noexcept {
  if (fails_all()) hold_.reset();
  answers_ = true;
}

void impasse::served(time_point sent, bool succeeded) noexcept {
  answered();
  succeeded_ = succeeded_ || succeeded;
  row_ = 0;
  if (hold_ && sent >= hold_->since) hold_.reset();
}

bool impasse::refused(time_point now, time_point sent, int status, duration patience) {
  answered();
  if (!succeeded_) return false;
  row_ = status == status_ ? row_ + 1 : 1;
  status_ = status;
  patience_ = patience;
  if (hold_) {
    probe_failed(now, sent, refused_gap_max);
    hold_->until = std::max(now, std::min(hold_->until, later(hold_->since, patience)));
    return true;
  }
  if (row_ >= refused_in_a_row) begin(now, std::min(refused_gap, patience));
  return false;
}

time_point impasse::ready_at(int in_flight) const noexcept {
  if (!hold_) return time_point::min();
  return in_flight > 0 ? never : hold_->until;
}

bool impasse::hopeless(time_point now, silence const& of_run) const noexcept {
  if (!hold_) return false;
  if (!silent()) return hold_->probes > 0 && now - hold_->since >= patience_;
  return futile_ ||
         (silence_.attempts() >= attempts_min && (silence_.is_long(now) || of_run.is_long(now)));
}

std::string impasse::words() const {
  if (!hold_) return {};
  return answers_ ? fmt::format("refuses the caller ({})", status_) : why_;
}

std::string impasse::tried(time_point now) const {
  if (silent())
    return fmt::format("{0} of {0} attempts; nothing was ever answered", silence_.attempts());
  if (!answers_)
    return fmt::format("{} lines and {} more in {}; nothing was ever done", failed_lines,
                       hold_ ? hold_->probes : 0, in_words(hold_ ? now - hold_->since : 0s));
  return fmt::format("{} lines in a row, and {} more in {}", refused_in_a_row,
                     hold_ ? hold_->probes : 0, in_words(hold_ ? now - hold_->since : 0s));
}

void impasse::begin(time_point now, duration gap) {
  hold_ = hold{.since = now, .until = later(now, gap), .gap = gap};
}

/// What went before it began is no probe.
void impasse::probe_failed(time_point now, time_point sent, duration gap_max) {
  if (sent < hold_->since) return;
  ++hold_->probes;
  hold_->gap = std::min(2 * hold_->gap, gap_max);
  hold_->until = later(now, hold_->gap);
}

}  // namespace headway::app
