// The epoch on a permit decides exactly as seed text 003's set of ignored ids; a timestamp does
// not, because sends, answers and cuts may share an instant.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <vector>

#include "headway/law/paced.hpp"
#include "headway/pacer/gcra.hpp"
#include "headway/window/reno.hpp"
#include "seeds.hpp"

namespace headway {
namespace {

/// Seed 003's "Updated algorithm", literally, with a floor of 1 (see reno.hpp).
struct text_003 {
  double cwnd = 20, ssthresh = 1024, factor = 0.5;
  std::set<int> flying{}, ignored{};

  bool may_send() const { return static_cast<double>(flying.size()) < cwnd; }
  void on_success(int id) {
    auto const size = static_cast<double>(flying.size());
    cwnd = std::max(cwnd, std::min(size + 1, size < ssthresh ? cwnd + 1 : cwnd + 1.0 / cwnd));
    flying.erase(id);
  }
  bool on_error(int id) {
    bool const cuts = !ignored.contains(id);
    if (cuts) {
      ssthresh = cwnd * factor;
      cwnd = std::max(1.0, ssthresh);
      ignored = flying;
    }
    flying.erase(id);
    return cuts;
  }
};

TEST(epoch, decides_as_the_set_of_ignored_ids) {
  int throttles = 0, cuts = 0;
  int by_sent_after = 0, by_sent_at_or_after = 0;  // decisions that a timestamp gets wrong
  for (auto const seed : seeds(3'000)) {
    SCOPED_TRACE(rerun(seed));
    rng draw(seed);
    text_003 text{.factor = seed % 2 == 0 ? 0.5 : 0.9};
    paced<unpaced, reno> ours{.win = {.beta = text.factor}};
    struct attempt {
      int id;
      stamp permit;
    };
    std::vector<attempt> out;
    time_point now{};
    time_point last_cut = time_point::min();
    int next_id = 0;
    auto const errors = 1 + draw() % 8;  // of 16
    auto const ties = draw() % 8;        // of 8 steps do not move time
    for (int step = 0; step < 200; ++step) {
      if (draw() % 8 >= ties) now += 1ms;
      if (draw() % 2 == 0 && text.may_send()) {
        out.push_back({next_id, ours.take(now, 1, 0)});
        text.flying.insert(next_id++);
      } else if (!out.empty()) {
        auto const chosen = out.begin() + static_cast<long>(draw() % out.size());
        auto const answered = *chosen;
        out.erase(chosen);
        sample const s{answered.permit, static_cast<int>(text.flying.size())};
        if (draw() % 16 >= errors) {
          text.on_success(answered.id);
          ours.on_success(now, s, 0);
        } else {
          auto const before = ours.epoch;
          ours.on_throttle(now, s, resource::unknown, 0);
          bool const cut = text.on_error(answered.id);
          ASSERT_EQ(ours.epoch != before, cut) << "step " << step;
          by_sent_after += (answered.permit.sent > last_cut) != cut;
          by_sent_at_or_after += (answered.permit.sent >= last_cut) != cut;
          ++throttles;
          if (cut) ++cuts, last_cut = now;
        }
      }
      ASSERT_EQ(ours.allowed(), text.cwnd) << "step " << step;
      ASSERT_EQ(ours.win.ssthresh, text.ssthresh) << "step " << step;
    }
  }
  std::printf(
      "%d throttles, %d cuts; comparing timestamps decides %.1f %% (>) and %.1f %% (>=) "
      "of them otherwise\n",
      throttles, cuts, 100.0 * by_sent_after / throttles, 100.0 * by_sent_at_or_after / throttles);
  EXPECT_GT(cuts, 0);
  EXPECT_GT(by_sent_after, 0);
  EXPECT_GT(by_sent_at_or_after, 0);
}

}  // namespace
}  // namespace headway
