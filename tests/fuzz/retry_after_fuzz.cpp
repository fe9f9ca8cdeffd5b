#include "headway/http/retry_after.hpp"

#include <cstdint>

#include "headway/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(char const* data, std::size_t size) {
  using namespace headway;
  auto const now = std::chrono::sys_days{std::chrono::year{2024} / 2 / 29};
  auto const wait = http::parse_retry_after({data, size}, now);
  HEADWAY_REQUIRE(!wait || *wait >= duration::zero());
  return 0;
}
