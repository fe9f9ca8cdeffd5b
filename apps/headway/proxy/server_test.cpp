#include "proxy/server.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "base/clock.hpp"

namespace headway::app::proxy {
namespace {

struct request final : waiter {
  void on_turn(time_point) override { ++turns; }
  void on_refused(refusal r) override { refused = std::move(r); }

  int turns = 0;
  std::optional<refusal> refused{};
};

// A client that left after one refusal made each later restart one that had lasted since then.
TEST(server, counts_an_absence_from_its_own_beginning) {
  asio::io_context io;
  upstream_config settings;
  settings.name = "api";
  settings.url = settings.origin = "http://127.0.0.1:9";
  settings.words.law = "fixed";
  settings.cold = settings.alone = true;
  auto const it = std::make_shared<server>(io, settings);
  lane_key key;
  key.origin = key.url = settings.url;
  auto const refuse = [&](time_point now, request& r) {
    EXPECT_FALSE(it->join(now, r, key));
    EXPECT_EQ(r.turns, 1);
    it->refused_connection(now, r, "refused", true);
  };
  auto const now = clock_now();
  request first, second;
  refuse(now, first);
  EXPECT_FALSE(first.refused);
  it->leave(now, first);
  refuse(now + 6h, second);
  EXPECT_FALSE(second.refused);
  it->leave(now + 6h, second);
}

}  // namespace
}  // namespace headway::app::proxy
