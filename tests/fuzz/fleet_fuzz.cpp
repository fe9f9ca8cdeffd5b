#include <array>
#include <string>

#include "headway/fleet/blob.hpp"
#include "headway/fleet/member.hpp"
#include "headway/require.hpp"

namespace fleet = headway::fleet;

/// The digest of the law, which nothing guesses, is put before the bytes.
static std::size_t head_of(std::string const& blob) {
  return blob.starts_with("hwS") ? 3 + 16 : 4;
}

/// What can be read gives the same bytes, and neither a combiner nor a member comes to harm by it.
extern "C" int LLVMFuzzerTestOneInput(char const* data, std::size_t size) {
  if (size == 0) return 0;
  std::string const bytes(data + 1, size - 1);
  static std::array<std::string, 4> const kinds = {
      to_blob(fleet::report{}), to_blob(fleet::state{}), common_blob(fleet::grant{}),
      own_blob(fleet::grant{})};
  auto const& kind = kinds[static_cast<unsigned char>(*data) % kinds.size()];
  auto const blob = kind.substr(0, head_of(kind)) + bytes;

  fleet::state now;
  if (auto const s = fleet::read_state(blob)) {
    HEADWAY_REQUIRE(to_blob(*s) == blob);
    now = *s;
  }
  auto const at = headway::later(now.at, std::chrono::milliseconds(100));
  std::vector<fleet::report> reports;
  if (auto const r = fleet::read_report(blob)) {
    HEADWAY_REQUIRE(to_blob(*r) == blob);
    reports.push_back(*r);
    if (blob.size() < 2000) reports.push_back(*r);
  }
  auto const next = fleet::combine(now, reports, at);
  HEADWAY_REQUIRE(next.version > now.version || now.version == ~std::uint64_t{0});
  auto const again = fleet::combine(next, {}, headway::later(at, std::chrono::milliseconds(100)));
  HEADWAY_REQUIRE(fleet::read_state(to_blob(again)) == again);

  fleet::member m(1, {}, std::chrono::hours(1));
  m.refresh(at, 0, 5);
  m.speak(at);
  if (auto const g = fleet::read_grant(blob, {})) m.hear(at, *g, 1, false);
  if (auto const g = fleet::read_grant(common_blob({.version = 1}), blob)) {
    HEADWAY_REQUIRE(own_blob(*g) == blob);
    m.hear(at, *g, 1, true);
  }
  for (auto t = at; t < headway::later(at, std::chrono::milliseconds(300));
       t += std::chrono::milliseconds(10)) {
    m.refresh(t, 0, 5);
    if (m.claim(t, 1, 0)) m.take(t, 1, 0);
  }
  return 0;
}
