// Below its high-water mark the governor does not allocate: operator new is counted.

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "headway/headway.hpp"

namespace {
long allocations = 0;
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* const p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}

namespace headway {
namespace {

TEST(governor, does_not_allocate_below_its_high_water_mark) {
  constexpr std::size_t mark = 1000;
  governor<full_jitter, paced<unpaced, fixed_window>> g;
  rng draw(9);
  time_point now{1s};
  std::vector<ticket> waiting, flying;
  waiting.reserve(mark);
  flying.reserve(mark);
  auto const submit = [&] {
    request_terms const terms{.deadline = now + 1h + scale(1h, draw())};
    waiting.push_back(std::get<ticket>(g.submit(now, terms)));
  };
  auto const take_any = [&](std::vector<ticket>& from) {
    std::swap(from[draw() % from.size()], from.back());
    auto const t = from.back();
    from.pop_back();
    return t;
  };
  while (waiting.size() < mark) submit();

  auto const before = allocations;
  for (int i = 0; i < 100'000; ++i) {
    now += 1ms;
    while (auto const t = g.next(now)) {
      g.start(now, *t, draw());
      std::erase(waiting, *t);
      flying.push_back(*t);
    }
    if (!waiting.empty() && draw() % 4 == 0) g.cancel(now, take_any(waiting));
    if (!flying.empty() && draw() % 4 == 0) {
      auto const t = take_any(flying);
      auto const what = draw() % 2 == 0 ? outcome::throttle : outcome::success;
      if (g.finish(now, t, {what}, draw()).what == verdict::retry) waiting.push_back(t);
    }
    // Up and down, so that the queue empties and fills again.
    auto const fill = i / 10'000 % 2 == 0 ? mark / 10 : mark;
    while (waiting.size() + flying.size() < fill) submit();
  }
  EXPECT_EQ(allocations - before, 0);
  EXPECT_GT(before, 0);
}

}  // namespace
}  // namespace headway
