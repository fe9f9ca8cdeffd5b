#include "headway/shared/paged_pace.hpp"

#include <algorithm>
#include <utility>

namespace headway {
namespace {

constexpr duration permits_looked_at = 5ms;    // while others hold what we wait for
constexpr duration members_looked_at = 100ms;  // whether they live, and whether the pace rose
constexpr duration ahead_max = 1s;             // of us, another's act by the same clock
constexpr duration stopped_max = 1h;           // between two statements of ours
constexpr int tries_max = 100'000;             // while others act: a tenth of a second

}  // namespace

pace::~pace() = default;
page::~page() = default;

paged_pace::paged_pace(std::unique_ptr<page> where, any_law const& begins,
                       duration patience) noexcept
    : page_(std::move(where)), patience_(patience), begins_(begins), seen_{.law = begins} {
  if (page_) join(begins);
}

paged_pace::~paged_pace() {
  if (page_ && !page_->inherited()) act(never, [&](common_pace& all) { all.of(me_) = {}; });
}

void paged_pace::join(any_law const& begins) noexcept {
  me_ = page_->seat();
  begins_ = begins;
  believed_ = false;
  for (int tries = 0; tries < tries_max; ++tries) {
    common_pace all;
    if (!page_->read(seen_version_, all)) all = {};
    all.of(me_) = {};  // a member died there
    free_dead(all);
    if (all.size() == 0) all = {.law = begins};
    all.of(me_) = {.here = true};
    if (!publish(all)) continue;
    seen_version_ = page::unseen;  // by our clock it was not
    return;
  }
  leave();
}

/// Goes on alone, with the law as it was when we last believed what we saw.
void paged_pace::leave() noexcept {
  if (!page_) return;
  page_.reset();
  auto own = seen_.of(std::exchange(me_, 0));
  own.here = true;
  seen_ = {.law = believed_ ? seen_.law : begins_, .held = believed_ ? seen_.held : held_};
  seen_.of(me_) = own;
}

/// Whether we are a member, and it can have been made by our clock. An act of another lies in our
/// past, unless a signal has stopped us since we read the clock.
bool paged_pace::believable(common_pace const& value, time_point now) const noexcept {
  if (now == never) return true;  // looked at again by the clock
  if (!value.of(me_).here) return false;
  auto const acted = value.others_acted(me_);
  if (acted > later(now, ahead_max)) {
    auto const passed = page_->now() - now;
    auto const stopped = passed > 0ns && passed < stopped_max;
    if (!stopped || acted > later(now + passed, ahead_max)) return false;
  }
  return value.near(now, patience_);
}

void paged_pace::read(time_point now) noexcept {
  if (!page_) return;
  if (page_->inherited()) {
    page_ = page_->join_anew();
    seen_.members = {};
    me_ = 0;
    if (!page_) return;
    auto const law = seen_.law;
    join(law);
    if (!page_) return;
  }
  if (page_->latest() == seen_version_) return;
  common_pace value;
  if (!page_->read(seen_version_, value) || !believable(value, now)) return leave();
  seen_ = value;
  believed_ = now != never;
}

/// Makes `value` the valid one, unless another acted after seen_.
bool paged_pace::publish(common_pace const& value) noexcept {
  if (page_ && !page_->publish(seen_version_, value)) return false;
  seen_ = value;
  return true;
}

template <class F>
void paged_pace::act(time_point now, F f) noexcept {
  for (int tries = 1;; ++tries) {
    read(now);
    auto all = seen_;
    f(all);
    if (publish(all)) return;
    if (tries == tries_max) leave();
  }
}

void paged_pace::free_dead(common_pace& value) const noexcept {
  for (int i = 0; i < common_pace::members_max; ++i)
    if (i != me_ && value.of(i).here && !page_->taken(i)) value.of(i) = {};
}

void paged_pace::look(time_point now) noexcept {
  read(now);
  held_ = seen_.held <= later(now, patience_) ? seen_.held : time_point::min();
  others_ = seen_.others_out(me_, now);
  deference_ = seen_.deference(me_, now);
}

void paged_pace::refresh(time_point now, int out, int waiting) noexcept {
  auto const waits = waiting > 0;
  read(now);
  if (seen_.absent(me_, now)) back_ = now;
  auto const& known = seen_.of(me_);
  auto const looks = now >= later(known.looked, members_looked_at);
  if (looks || known.out != out || known.waits != waits)
    act(now, [&](common_pace& all) {
      if (looks) {
        if (page_) free_dead(all);
        all.of(me_).looked = now;
      }
      all.of(me_).out = out;
      all.of(me_).waits = waits;
    });
  if (looks) company_ = std::max(company_, seen_.size() - 1);
  look(now);
}

time_point paged_pace::ready_at(std::int64_t cost) const noexcept {
  return later(seen_.law.ready_at(cost), deference_);
}

bool paged_pace::claim(time_point now, std::int64_t cost, fraction u) noexcept {
  for (int tries = 1;; ++tries) {
    look(now);
    auto const out = others_ + seen_.of(me_).out;
    if (held_ > now || ready_at(cost) > now || out >= seen_.law.allowed()) return false;
    if (!page_) return true;  // no other is faster
    auto const promised = seen_;
    auto all = seen_;
    claimed_ = all.law.take(now, cost, u);
    claimed_->in_flight = out + 1;
    ++all.of(me_).out;
    all.of(me_).took = now;
    if (publish(all)) {
      seen_ = promised;  // until take()
      seen_version_ = page::unseen;
      return true;
    }
    claimed_.reset();
    if (tries == tries_max) leave();
  }
}

time_point paged_pace::look_again(time_point now) const noexcept {
  if (!page_) return never;
  auto const permits = others_ > 0 && others_ + seen_.of(me_).out >= seen_.law.allowed();
  return later(now, permits ? permits_looked_at : members_looked_at);
}

stamp paged_pace::take(time_point now, std::int64_t cost, fraction u) noexcept {
  auto permit = std::exchange(claimed_, std::nullopt);
  if (!permit)
    act(now, [&](common_pace& all) {
      permit = all.law.take(now, cost, u);
      permit->in_flight = all.others_out(me_, now) + ++all.of(me_).out;
      all.of(me_).took = now;
    });
  look(now);
  return *permit;
}

/// Tells the law, unless we were stopped meanwhile: then no process knows how long the answer took.
template <class F>
void paged_pace::learn(time_point now, sample s, F f) noexcept {
  if (seen_.absent(me_, now)) back_ = now;
  if (s.sent.sent < back_) return;
  act(now, [&](common_pace& all) {
    auto whole = s;
    whole.in_flight += all.others_out(me_, now);
    f(all.law, whole);
  });
}

void paged_pace::on_success(time_point now, sample const& s, fraction u) noexcept {
  learn(now, s, [&](any_law& l, sample const& of_all) { l.on_success(now, of_all, u); });
}

void paged_pace::on_throttle(time_point now, sample const& s, resource r, fraction u) noexcept {
  learn(now, s, [&](any_law& l, sample const& of_all) { l.on_throttle(now, of_all, r, u); });
}

void paged_pace::on_failure(time_point now, sample const& s, fraction u) noexcept {
  learn(now, s, [&](any_law& l, sample const& of_all) { l.on_failure(now, of_all, u); });
}

void paged_pace::on_cancel(time_point now, stamp const& sent) noexcept {
  learn(now, {.sent = sent},
        [&](any_law& l, sample const& of_all) { l.on_cancel(now, of_all.sent); });
}

void paged_pace::hold(time_point until) noexcept {
  act(never, [&](common_pace& all) { all.held = std::max(all.held, until); });
  held_ = std::max(held_, until);
  if (page_) seen_version_ = page::unseen;  // by our clock it was not seen
}

void paged_pace::on_hint(time_point now, hint const& h) noexcept {
  act(now, [&](common_pace& all) {
    if (h.retry_after)
      all.held = std::max(all.held, later(now, std::max(*h.retry_after, duration(0))));
    auto of_all = h;
    of_all.shared = h.shared && all.size() == 1;  // members are no others: the law knows of them
    all.law.on_hint(now, of_all);
  });
}

}  // namespace headway
