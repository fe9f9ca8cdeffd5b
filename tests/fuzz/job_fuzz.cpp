#include "run/job.hpp"

#include <cstdint>

#include "command.hpp"
#include "headway/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(char const* data, std::size_t size) {
  using namespace headway::app;
  static job_parser parser{line_options{.base_url = "http://127.0.0.1:8429"}};
  try {
    if (auto const job = parser.parse({data, size}, 7)) {
      HEADWAY_REQUIRE(!job->id.empty());
      HEADWAY_REQUIRE(!origin(job->url).empty());
      HEADWAY_REQUIRE(job->cost >= 0);
    }
  } catch (fatal const& refused) {
    HEADWAY_REQUIRE(refused.code == exit_usage);
    HEADWAY_REQUIRE(std::string_view(refused.what()).find_first_of("\n\r\x1b") == std::string_view::npos);
  }
  return 0;
}
