#include "mock/emr.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

#include "base/text.hpp"

namespace headway::app {
namespace {

/// "j-" and letters and digits, so that no answer needs to quote it.
bool is_cluster_id(std::string_view id) {
  constexpr std::size_t longest = 64;
  return id.starts_with("j-") && id.size() > 2 && id.size() <= longest &&
         std::all_of(id.begin() + 2, id.end(), is_alphanumeric);
}

}  // namespace

emr_reply emr_answer(std::string_view target, std::string_view body) {
  constexpr std::string_view operation = "ElasticMapReduce.DescribeCluster";
  if (target != operation) return {400, R"({"__type":"UnknownOperationException"})"};
  thread_local simdjson::dom::parser parser;
  simdjson::dom::element json;
  std::string_view id;
  if (parser.parse(simdjson::padded_string(body)).get(json) != simdjson::SUCCESS ||
      json["ClusterId"].get(id) != simdjson::SUCCESS || !is_cluster_id(id))
    return {400, R"({"__type":"InvalidRequestException","ErrorCode":"NoSuchCluster",)"
                 R"("Message":"Cluster id is not valid."})"};
  return {200, fmt::format(R"({{"Cluster":{{"Id":"{}","Name":"cluster {}","Status":)"
                           R"({{"State":"WAITING"}},"NormalizedInstanceHours":16}}}})",
                           id, id.substr(2))};
}

}  // namespace headway::app
