#include "watch/metrics_outlet.hpp"

#include <algorithm>
#include <utility>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "os/replacement.hpp"

namespace headway::app {
namespace {

constexpr duration sent_within = 500ms;  // the last figures, to what fetches them
constexpr duration fetch_late = 1s;      // on a busy machine
constexpr duration written_every = 15s, open_max = 30s;
constexpr std::string_view type = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace

metrics_outlet::metrics_outlet(poller& events, std::string const& where,
                               std::function<std::string()> page, time_point now)
    : page_(std::move(page)) {
  if (where.ends_with(".prom")) {
    path_ = where;
    next_ = now;
    return;
  }
  if (where.find(':') == where.npos)
    throw fatal(exit_usage, "--metrics " + in_quotes(where) +
                                ": want FILE.prom, or HOST:PORT as 127.0.0.1:9464");
  served_ = http_page{.path = "/metrics",
                      .type = std::string(type),
                      .host = where.substr(0, where.rfind(':')),
                      .text = [this] { return fetched(); }};
  service_.emplace(events, listen_at("--metrics", where),
                   [this](std::string_view said) { return served_->answer(said); });
}

time_point metrics_outlet::wakeup() const noexcept {
  return service_ ? service_->wakeup() : next_;
}

void metrics_outlet::tick(time_point now) {
  now_ = now;
  if (service_) return service_->tick(now);
  if (now < next_) return;
  next_ = now + written_every;
  write();
}

void metrics_outlet::conclude(time_point now) {
  final_ = true;
  if (!path_.empty()) return write();
  if (apart_ > 0ns) open_until_ = now + std::min(2 * apart_ + fetch_late, open_max);
}

std::string metrics_outlet::fetched() {
  if (fetched_ != time_point{}) apart_ = std::max(now_ - fetched_, apart_ - apart_ / 4);
  fetched_ = now_;
  if (final_) open_until_ = std::min(open_until_, now_ + sent_within);
  return page_();
}

void metrics_outlet::write() const {
  replacement whole(path_);
  whole.append(page_());
  whole.let_all_read();  // collectors are other users
  whole.put();
}

}  // namespace headway::app
