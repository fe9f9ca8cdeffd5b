#include "proxy/renewal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "base/words.hpp"

namespace headway::app::proxy {
namespace {

constexpr int failures_max = 5;  // in a row; then those that wait are told

}  // namespace

renewal::renewal(boost::asio::io_context& io, std::vector<std::string> const& commands,
                 std::optional<duration> ttl, std::function<void()> news)
    : events_(io,
              [this](std::span<poller::event const> ready) {
                for (auto const& e : ready) commands_.ready(e);
                beat();
              }),
      commands_(events_.events(), commands, ttl),
      news_(std::move(news)),
      timer_(io),
      stand_ins_(commands_.stand_ins()) {
  arm();
}

void renewal::obtain() {
  while (generation() == 0) {
    commands_.flush(clock_now());
    if (commands_.failures() > 0) throw fatal(exit_usage, commands_.problem());
    for (auto const& e : events_.events().wait(commands_.wakeup())) commands_.ready(e);
  }
  arm();
}

std::string_view renewal::problem() const noexcept {
  return wanted() && commands_.failures() >= failures_max ? commands_.problem()
                                                          : std::string_view();
}

duration renewal::again_in(time_point now) const noexcept {
  return std::max(commands_.wakeup() - now, duration(0));
}

void renewal::refuse(std::uint64_t generation) {
  commands_.refuse(generation);
  arm();
}

std::string renewal::filled(std::string_view head) {
  if (lines_of_ != generation()) {
    lines_ = commands_.filled(stand_ins_);
    lines_of_ = generation();
  }
  std::string text(head);
  for (std::size_t i = 0; i < lines_.size(); ++i)
    if (auto const at = text.find(stand_ins_[i]); at != text.npos)
      text.replace(at, stand_ins_[i].size(), lines_[i]);
  return text;
}

void renewal::arm() {
  auto const at = commands_.wakeup();
  if (at == never) return;
  auto const left = at - clock_now();
  timer_.expires_after(std::chrono::nanoseconds(std::clamp<duration>(left, 0ns, 1h)));
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](boost::system::error_code e) {
    if (!e && !alive.expired()) beat();
  });
}

void renewal::beat() {
  auto const fresh = commands_.flush(clock_now());
  auto const failures = commands_.failures();
  auto const worse = failures > std::exchange(failures_, failures);
  if (worse && failures == 1) say(fmt::format("{}; it is tried again", commands_.problem()));
  arm();
  if (fresh || worse) news_();
}

}  // namespace headway::app::proxy
