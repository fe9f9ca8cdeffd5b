#include "run/purse.hpp"

#include <utility>

#include "headway/backoff/equal_jitter.hpp"

namespace headway::app {
namespace {

constexpr equal_jitter gives_way{.base = 100ms, .cap = 10s};

}  // namespace

purse::purse(run_options const& options, journal const* log)
    : prices_(options.prices),
      spending_(options.spend_max, log == nullptr ? "" : log->noted(spent_key),
                log == nullptr ? 0 : static_cast<std::int64_t>(log->intents().size())) {}

void purse::yield(time_point now, fraction u) {
  if (!yields_until_) yields_until_ = now + gives_way.delay(yielded_++, {}, u);
}

bool purse::rested(time_point now) noexcept {
  if (!yields_until_ || now < *yields_until_) return false;
  yields_until_.reset();
  return true;
}

std::string purse::pay(job const& j, judgement const& told) {
  auto all = told.costs;
  all.insert(all.end(), told.usage.begin(), told.usage.end());
  for (auto const& p : prices_) add_price(all, p);
  auto why = spending_.charge(j.costs, all);
  note_down();
  return why;
}

void purse::settle(request& r, bool in_doubt) {
  if (std::exchange(r.owes, false))
    spending_.lose();
  else if (r.attempts == 0 && in_doubt)
    spending_.resolve();
  else
    return;
  note_down();
}

void purse::resolve() {
  spending_.resolve();
  note_down();
}

void purse::hear(source::news const& news) {
  spending_.doubt(news.doubted);
  if (!news.spent) return;
  for (auto const& most : news.spent->most) spending_.allow(most);
  spending_.share(news.spent->ledger, news.spent->flying);
}

void purse::note_down() const {
  if (!keep_) return;
  if (auto ledger = spending_.ledger(); !ledger.empty()) keep_({spent_key, std::move(ledger)});
}

}  // namespace headway::app
