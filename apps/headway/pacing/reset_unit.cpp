#include "pacing/reset_unit.hpp"

namespace headway::app {
namespace {

// Between two answers that are compared: less is the network's, more may hide a new window.
constexpr duration apart_min = std::chrono::milliseconds(40), apart_max = std::chrono::seconds(5);

}  // namespace

void reset_unit::look(time_point now, std::span<http::quota const> told) {
  for (auto const& q : told) {
    if (!q.reset) continue;
    auto k = std::ranges::find(known_, q.name, &known::name);
    if (k == known_.end()) {
      if (known_.size() >= names_max) continue;
      k = known_.insert(k, {.name = q.name, .at = now, .reset = *q.reset});
    } else if (auto const passed = now - k->at; passed >= apart_min) {
      auto const fall = k->reset - *q.reset;
      if (fall >= duration::zero() && passed <= apart_max)  // else it is another window's
        k->fell =
            fall / 2000 <= passed && fall / 500 >= passed ? std::min(k->fell + 1, shown_by) : 0;
      k->at = now;
      k->reset = *q.reset;
    }
    if (k->in_ms()) k->back = later(now, reset_of(q));
  }
}

void reset_unit::ended(time_point sent, bool refused) {
  for (auto& k : known_) {
    if (!k.in_ms() || sent < k.back) continue;
    k.refused = refused ? k.refused + 1 : 0;
    k.back = time_point::max();
  }
}

reset_unit::known const* reset_unit::find(std::string const& name) const noexcept {
  auto const found = std::ranges::find(known_, name, &known::name);
  return found == known_.end() ? nullptr : &*found;
}

bool reset_unit::in_ms(http::quota const& q) const noexcept {
  auto const* const k = find(q.name);
  return q.reset && k != nullptr && k->in_ms();
}

}  // namespace headway::app
