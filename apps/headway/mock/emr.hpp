/// What `headway mock --style emr` is beside a server: DescribeCluster of Amazon EMR, and how EMR
/// says that it throttles.
#pragma once

#include <string>
#include <string_view>

namespace headway::app {

struct emr_reply {
  unsigned status = 200;
  std::string body{};
};

/// Returns a cluster that waits, by the ClusterId of the body. Another operation, or what is no
/// ClusterId, is answered 400 with EMR's word for it. Source: Amazon EMR API Reference,
/// DescribeCluster and Common Errors.
emr_reply emr_answer(std::string_view target, std::string_view body);

inline constexpr std::string_view emr_throttled =
    R"({"__type":"ThrottlingException","message":"Rate exceeded"})";
inline constexpr std::string_view emr_failed =
    R"({"__type":"InternalServerException","message":"An internal error occurred."})";

}  // namespace headway::app
