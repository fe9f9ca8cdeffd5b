#include "jobs/job.hpp"

#include <simdjson.h>

#include <cstdint>
#include <string>

#include "base/fatal.hpp"
#include "client/headers.hpp"
#include "headway/require.hpp"

namespace {

using namespace headway::app;

/// Compact text must say what the line said.
void require_same_json(std::string_view line, std::string_view key, std::string const& compact) {
  simdjson::dom::parser whole;
  simdjson::dom::parser alone;
  HEADWAY_REQUIRE(simdjson::to_string(whole.parse(line.data(), line.size())[key].value()) ==
                  simdjson::to_string(alone.parse(compact).value()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(char const* data, std::size_t size) {
  static job_parser parser(line_options{});
  std::string_view text(data, size);
  try {
    auto const j = parser.parse(text, 7);
    if (!j) return 0;
    HEADWAY_REQUIRE(!j->id.empty() && !j->method.empty() && j->cost > 0);
    HEADWAY_REQUIRE(destination_of(j->url).origin == j->origin && !j->origin.empty());
    for (auto const& header : request_headers(*j, {}))
      HEADWAY_REQUIRE(header.find(':') != 0 && header.find_first_of("\r\n") == header.npos);
    text = text.substr(text.find_first_not_of(" \t\r"));
    while (text.ends_with('\r')) text.remove_suffix(1);
    if (j->json_body) require_same_json(text, "body", *j->body);
    if (!j->meta.empty()) require_same_json(text, "meta", j->meta);
  } catch (fatal const& refused) {
    HEADWAY_REQUIRE(refused.code == exit_usage);
    std::string_view const what = refused.what();
    HEADWAY_REQUIRE(what.starts_with("JOBS:7: "));
    HEADWAY_REQUIRE(what.find_first_of("\n\r\x1b") == what.npos);
  }
  return 0;
}
