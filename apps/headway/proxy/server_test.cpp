#include "proxy/server.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

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

// It took the turns of its first tenths of a second for those of ten.
TEST(server, that_has_just_begun_foretells_a_turn_by_the_turns_since) {
  asio::io_context io;
  upstream_config settings;
  settings.name = "api";
  settings.url = settings.origin = "http://127.0.0.1:9";
  settings.words.law = "fixed";
  settings.words.rate = "20/s";
  settings.cold = settings.alone = true;
  auto const it = std::make_shared<server>(io, settings);
  lane_key key;
  key.origin = key.url = settings.url;
  auto now = clock_now();
  std::vector<request> crowd(30);
  for (auto& r : crowd) EXPECT_FALSE(it->join(now, r, key));
  std::map<std::string_view, duration> where;
  for (int i = 0; i < 8; ++i) it->tick(now += 50ms, where);
  request hasty, patient;
  for (auto* r : {&hasty, &patient}) r->told_patience = true;
  hasty.deadline = now + 500ms;
  patient.deadline = now + 3s;
  EXPECT_TRUE(it->join(now, hasty, key));
  EXPECT_FALSE(it->join(now, patient, key));
  it->leave(now, patient);
  for (auto& r : crowd) it->leave(now, r);
}

}  // namespace
}  // namespace headway::app::proxy
