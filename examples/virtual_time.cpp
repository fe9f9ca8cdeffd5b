// A test of code that uses headway: half a minute of a throttling API in a few milliseconds, the
// same to the nanosecond every time. Nothing sleeps, since the core is told the time.

#include <headway/headway.hpp>

#include <cstdio>
#include <map>

namespace {

/// The code under test: it uploads items, and takes the time as an argument.
struct uploader {
  headway::default_governor governor{};
  headway::rng chance{42};
  int items_left = 1'000, done = 0;

  void fill(headway::time_point now) {
    for (; items_left > 0 && governor.waiting() < 100; --items_left) governor.submit(now);
  }
  void answered(headway::time_point now, headway::ticket id, bool throttled) {
    auto const what = throttled ? headway::outcome::throttle : headway::outcome::success;
    done += governor.finish(now, id, {.what = what}, chance()).what == headway::verdict::done;
  }
};

}  // namespace

int main() {
  using namespace std::chrono_literals;
  headway::time_point now{};
  uploader work;
  auto limit = headway::gcra::per(50, 1s, 10);  // the API: 50 a second, 10 at once, 20 ms away
  std::multimap<headway::time_point, std::pair<headway::ticket, bool>> answers;
  int throttled = 0;

  while (work.done < 1'000) {
    work.fill(now);
    while (auto const turn = work.governor.next(now)) {
      work.governor.start(now, *turn, work.chance());
      bool const refused = limit.ready_at(1) > now;
      if (!refused) limit.take(now, 1);
      throttled += refused;
      answers.emplace(now + 20ms, std::pair(*turn, refused));
    }
    auto const soonest = answers.empty() ? headway::never : answers.begin()->first;
    now = std::min(work.governor.wakeup(now), soonest);  // the clock: on to the next event
    for (; !answers.empty() && answers.begin()->first <= now; answers.erase(answers.begin()))
      work.answered(now, answers.begin()->second.first, answers.begin()->second.second);
  }

  auto const took = headway::to_seconds(now - headway::time_point{});
  std::printf("1,000 uploads in %.3f s of virtual time, %d throttled\n", took, throttled);
  return took < 22 && throttled < 30 ? 0 : 1;  // 19.8 s is the best possible
}
