#include "headway/fleet/board.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace headway::fleet {

board::reply board::exchange(time_point now, report const& r) {
  auto& b = boxes_[r.from];
  auto const fresh = r.number > b.told;
  if (fresh) {
    b.told = r.number;
    b.unheard.push_back(r);
    if (b.unheard.size() > reports_max) {
      b.unheard.pop_front();
      b.unheard.front().lost = true;
    }
    if (r.leaves && combiner_ == r.from) lease_ = now;
  }
  return {.granted = grant_of(valid_, r.from),
          .told = b.told,
          .combine = !r.leaves && (combiner_ == r.from || lease_ <= now),
          .fresh = fresh};
}

board::collected board::collect() const {
  collected all{.valid = valid_};
  for (auto const& [id, b] : boxes_) std::ranges::copy(b.unheard, std::back_inserter(all.reports));
  return all;
}

bool board::publish(time_point now, member_id by, std::uint64_t made_of, state next) {
  if (made_of != valid_.version) return false;
  valid_ = std::move(next);
  combiner_ = by;
  lease_ = later(now, lease + delay_of(valid_.way));
  auto at = boxes_.begin();
  for (auto m = valid_.members.begin(); at != boxes_.end();) {  // both by id
    while (m != valid_.members.end() && m->id < at->first) ++m;
    auto const known = m != valid_.members.end() && m->id == at->first;
    if (known)
      std::erase_if(at->second.unheard, [&](report const& r) { return r.number <= m->heard; });
    at = known || !at->second.unheard.empty() ? std::next(at) : boxes_.erase(at);
  }
  return true;
}

}  // namespace headway::fleet
