#include "base/test_libcurl.hpp"
#include "base/url.hpp"
#include "headway/require.hpp"

using namespace headway::app;

/// What decides where a credential goes and what sends the request must see the same server.
extern "C" int LLVMFuzzerTestOneInput(char const* data, std::size_t size) {
  for (std::string const scheme : {"", "http://", "https://"}) {
    auto const url = scheme + std::string(data, size);
    auto const [origin, problem] = destination_of(url);
    HEADWAY_REQUIRE(origin.empty() != problem.empty());
    HEADWAY_REQUIRE(problem.find_first_of("\n\r\x1b") == problem.npos);
    if (!origin.empty()) HEADWAY_REQUIRE(where_libcurl_sends(url) == origin);
  }
  return 0;
}
