#include "status/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include "base/json_text.hpp"
#include "base/live_line.hpp"
#include "base/text.hpp"
#include "base/words.hpp"

namespace headway::app {
namespace {

constexpr duration drawn_every = 125ms;

std::string share_of(std::int64_t part, std::int64_t all) {
  return fmt::format("{:.1f} %",
                     all > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(all) : 0.0);
}

std::string next_try(hindrance const& h, time_point now) {
  if (h.until == never) return "";
  return h.until > now ? "next try in " + in_words(h.until - now) : "trying now";
}

/// "pace", "quota (12 s)", "127.0.0.1:8080: pace".
std::string waiting_words(hindrance const& h, time_point now) {
  auto text = "waiting: " + h.why;
  if (!h.where.empty()) text += " of " + h.where;
  if (h.until != never && h.until > now + 1s) text += fmt::format(" ({})", in_words(h.until - now));
  return text;
}

/// The reason in ever fewer words; the last has no host.
std::vector<std::string> reasons(std::vector<hindrance> const& all, time_point now) {
  if (all.empty()) return {};
  auto const& worst = all.front();
  if (!worst.in_trouble()) return {waiting_words(worst, now), "waiting: " + worst.why};
  auto const told = [&](hindrance const& h, bool how_often, bool next) {
    auto text = h.where + " " + h.why;
    if (how_often && !h.how_often.empty()) text += " (" + h.how_often + ")";
    if (auto const when = next_try(h, now); next && !when.empty()) text += ", " + when;
    return text;
  };
  auto const more = all.size() > 1 ? fmt::format(" (and {} more)", all.size() - 1) : "";
  std::string whole;
  for (auto const& h : all) whole += (whole.empty() ? "" : " · ") + told(h, true, true);
  return {whole,
          told(worst, true, true) + more,
          told(worst, false, true) + more,
          told(worst, false, true),
          told(worst, false, false),
          worst.why};
}

}  // namespace

std::string summary(standing const& s, duration took) {
  auto text = fmt::format("{} succeeded, {} failed, {} unknown", s.success, s.failed, s.unknown);
  if (s.before > 0) {
    if (s.before > s.elsewhere)
      text += fmt::format(", {} were done before", s.before - s.elsewhere);
    if (s.elsewhere > 0)
      text += fmt::format(", {} were done by other hosts meanwhile", s.elsewhere);
    if (auto const lost = s.failed_before + s.unknown_before; lost > 0)
      text += fmt::format(" ({} of them failed, {} unknown)", s.failed_before, s.unknown_before);
  }
  if (s.left() > 0) text += fmt::format(", {} left", s.left());
  text += fmt::format(" in {} ({})\n", in_words(took),
                      rate_in_words(static_cast<double>(s.success) / to_seconds(took)));
  text +=
      fmt::format("{} attempts, {} throttled ({}), {} broken, at most {} in flight\n", s.attempts,
                  s.throttled, share_of(s.throttled, s.attempts), s.broken, s.in_flight_peak);
  if (!s.last_error.empty()) text += fmt::format("last error: {}\n", s.last_error);
  return text;
}

std::string next_step(standing const& s, bool journal) {
  auto const failed = s.failed + s.failed_before, unknown = s.unknown + s.unknown_before;
  std::string text;
  if (s.unrepeated > 0)
    text += fmt::format(
        "{} broke and {} not sent again, since a POST may have been carried out; "
        "--retry-unsafe sends such again\n",
        s.unrepeated, s.unrepeated == 1 ? "was" : "were");
  if (!journal || failed + unknown == 0) return text;
  text += "next: the same command with ";
  if (failed > 0) text += "--again failed sends again what failed";
  if (failed > 0 && unknown > 0) text += ", with ";
  if (unknown > 0) text += "--again unknown what may have been carried out";
  return text + "\n";
}

progress::progress(progress_style style, time_point now)
    : style_(style),
      live_(style == progress_style::automatic && isatty(STDERR_FILENO) == 1),
      began_(now),
      last_at_(now) {
  every_ = style == progress_style::json ? duration(1s) : live_ ? drawn_every : duration(10s);
  next_ = style == progress_style::none ? never : now + drawn_every;
  next_shown_ = now + every_;
}

progress::~progress() {
  clear();
}

void progress::clear() {
  if (isatty(STDERR_FILENO) == 1) live_line::erase();
}

void progress::update(time_point now, standing const& s) {
  if (now < next_) return;
  next_ = now + drawn_every;
  speed_.add(now - last_at_, s.ended() - last_ended_, s.throttled - last_throttled_);
  speed_.hold(s.held(now));
  last_ended_ = s.ended();
  last_throttled_ = s.throttled;
  last_at_ = now;
  if (now < next_shown_) return;
  next_shown_ = now + every_;
  if (live_) {
    winsize size{};
    auto const known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    live_line::draw(progress_line(s, speed_.foretell(s.left()), now,
                                  known ? size.ws_col - 1U : std::size_t{79}));
  } else if (style_ == progress_style::json) {
    std::fputs((progress_json(s, speed_.foretell(s.left()), now, now - began_) + "\n").c_str(),
               stderr);
  } else {
    constexpr auto all = std::numeric_limits<std::size_t>::max();
    std::fputs((progress_line(s, speed_.foretell(s.left()), now, all) + "\n").c_str(), stderr);
  }
  std::fflush(stderr);
}

std::string progress_json(standing const& s, outlook ahead, time_point now, duration elapsed) {
  auto const* const worst = s.waiting.empty() ? nullptr : &s.waiting.front();
  auto const until = worst == nullptr || worst->until == never
                         ? std::string("null")
                         : fmt::format("{:.3f}", to_seconds(worst->until - now));
  auto const how_often =
      worst == nullptr || worst->how_often.empty() ? std::string() : " (" + worst->how_often + ")";
  return fmt::format(
      R"({{"elapsed_s":{:.3f},"done":{},"total":{},"success":{},"failed":{},"unknown":{},"attempts":{},"throttled":{},)"
      R"("broken":{},"in_flight":{},"per_second":{:.3f},"left_s":{},"waiting_for":{},"waiting_at":{},"waiting_s":{},"last_error":{}{}}})",
      to_seconds(elapsed), s.before + s.ended(),
      s.total < 0 ? std::string("null") : std::to_string(s.total), s.success, s.failed, s.unknown,
      s.attempts, s.throttled, s.broken, s.in_flight, ahead.per_second,
      ahead.seconds_left > 0 && (worst == nullptr || !worst->stalls)
          ? fmt::format("{:.1f}", ahead.seconds_left)
          : "null",
      json_string(worst == nullptr ? "" : worst->why + how_often),
      json_string(worst == nullptr ? "" : worst->where), until, json_string(s.last_error),
      s.fleet.empty() ? "" : R"(,"fleet":)" + json_string(s.fleet));
}

std::string progress_line(standing const& s, outlook ahead, time_point now, std::size_t columns) {
  auto const done = s.before + s.ended();
  auto const why = reasons(s.waiting, now);
  // In the order of the line.
  enum place : std::size_t {
    at_done,
    at_speed,
    at_left,
    at_failed,
    at_why,
    at_fleet,
    at_throttled,
    at_flight,
    at_error,
    places
  };
  std::array<std::string, places> parts;
  auto const whole = [&] {
    std::string text;
    for (auto const& p : parts)
      if (!p.empty()) text += (text.empty() ? "" : " · ") + p;
    return text;
  };
  auto const add = [&](place where, std::string text) {
    auto before = std::exchange(parts[where], std::move(text));
    if (columns_of(whole()) <= columns) return true;
    parts[where] = std::move(before);
    return false;
  };
  parts[at_done] =
      s.total < 0 ? fmt::format("{} done", done) : fmt::format("{} / {}", done, s.total);
  // In the order of rank.
  auto fits = std::ranges::find_if(why, [&](auto const& text) { return add(at_why, text); });
  if (!why.empty() && fits == why.end()) parts[at_why] = why.back();
  if (s.failed > 0) add(at_failed, fmt::format("{} failed", s.failed));
  if (s.unknown > 0)
    add(at_failed, (s.failed > 0 ? fmt::format("{} failed, ", s.failed) : std::string()) +
                       fmt::format("{} unknown", s.unknown));
  auto const stalls = !s.waiting.empty() && s.waiting.front().stalls;
  if (ahead.seconds_left > 0 && !stalls)
    add(at_left, in_words(from_seconds(ahead.seconds_left)) + " left");
  if (ahead.per_second > 0 && !stalls) add(at_speed, rate_in_words(ahead.per_second));
  if (!s.fleet.empty()) add(at_fleet, "fleet: " + s.fleet);
  add(at_flight, fmt::format("{} in flight", s.in_flight));
  if (s.throttled > 0)
    add(at_throttled,
        fmt::format("{} throttled ({})", s.throttled, share_of(s.throttled, s.attempts)));
  auto const in_trouble = !s.waiting.empty() && s.waiting.front().in_trouble();
  if (!s.last_error.empty() && !in_trouble) add(at_error, "last error: " + s.last_error);
  return cut_to(columns, whole());
}

}  // namespace headway::app
