#include "status/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "base/json_text.hpp"
#include "base/words.hpp"

namespace headway::app {

std::string summary(standing const& s, duration took) {
  auto text = fmt::format("{} succeeded, {} failed, {} unknown", s.success, s.failed, s.unknown);
  if (s.before > 0) text += fmt::format(", {} were done before", s.before);
  if (s.left() > 0) text += fmt::format(", {} left", s.left());
  text += fmt::format(" in {} ({:.1f}/s)\n", in_words(took),
                      static_cast<double>(s.success) / to_seconds(took));
  text += fmt::format(
      "{} attempts, {} throttled ({:.1f} %), {} broken, at most {} in flight\n", s.attempts,
      s.throttled,
      s.attempts > 0 ? 100.0 * static_cast<double>(s.throttled) / static_cast<double>(s.attempts)
                     : 0.0,
      s.broken, s.in_flight_peak);
  return text;
}

progress::progress(progress_style style, time_point now)
    : style_(style),
      live_(style == progress_style::automatic && isatty(STDERR_FILENO) == 1),
      began_(now),
      last_at_(now) {
  every_ = style == progress_style::json ? duration(1s) : live_ ? duration(125ms) : duration(10s);
  next_ = style == progress_style::none ? never : now + every_;
}

progress::~progress() {
  clear();
}

void progress::clear() {
  if (live_ && shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void progress::update(time_point now, standing const& s) {
  if (now < next_) return;
  next_ = now + every_;
  auto const span = to_seconds(now - last_at_);
  auto const share = std::min(1.0, span / 5);  // over about five seconds
  speed_ += share * (static_cast<double>(s.ended() - last_ended_) / span - speed_);
  last_ended_ = s.ended();
  last_at_ = now;
  auto text = line(now, s);
  if (live_) {
    winsize size{};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 &&
        text.size() >= size.ws_col)
      text.resize(size.ws_col - 1U);
    std::fputs(("\r\033[K" + text).c_str(), stderr);
    shown_ = true;
  } else {
    std::fputs((text + "\n").c_str(), stderr);
  }
  std::fflush(stderr);
}

std::string progress::line(time_point now, standing const& s) const {
  auto const done = s.before + s.ended();
  if (style_ == progress_style::json) {
    auto const until = s.waiting.until == never
                           ? std::string("null")
                           : fmt::format("{:.3f}", to_seconds(s.waiting.until - now));
    std::string waiting_for;
    append_quoted(waiting_for, s.impasse.empty() ? to_string(s.waiting.why) : s.impasse);
    return fmt::format(
        R"({{"elapsed_s":{:.3f},"done":{},"total":{},"success":{},"failed":{},"unknown":{},"attempts":{},"throttled":{},)"
        R"("in_flight":{},"per_second":{:.3f},"waiting_for":{},"waiting_s":{}}})",
        to_seconds(now - began_), done, s.total < 0 ? std::string("null") : std::to_string(s.total),
        s.success, s.failed, s.unknown, s.attempts, s.throttled, s.in_flight, speed_, waiting_for,
        until);
  }
  auto text = s.total < 0 ? fmt::format("{} done", done) : fmt::format("{} / {}", done, s.total);
  text += fmt::format(" · {:.1f}/s · {} in flight", speed_, s.in_flight);
  if (s.throttled > 0)
    text += fmt::format(" · {} throttled ({:.1f} %)", s.throttled,
                        100.0 * static_cast<double>(s.throttled) / static_cast<double>(s.attempts));
  if (s.failed + s.unknown > 0) text += fmt::format(" · {} failed", s.failed + s.unknown);
  if (!s.impasse.empty()) {
    text += fmt::format(" · {}, next try {}", s.impasse,
                        s.waiting.until == never ? "now" : "in " + in_words(s.waiting.until - now));
  } else if (s.waiting.why != reason::none) {
    text += fmt::format(" · waiting: {}", to_string(s.waiting.why));
    if (s.waiting.until != never && s.waiting.until > now + 1s)
      text += fmt::format(" ({})", in_words(s.waiting.until - now));
  }
  if (speed_ > 0.01 && s.left() > 0)
    text +=
        fmt::format(" · {} left", in_words(from_seconds(static_cast<double>(s.left()) / speed_)));
  return text;
}

}  // namespace headway::app
