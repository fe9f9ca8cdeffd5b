#include "headway/http/classify.hpp"

#include <gtest/gtest.h>

namespace headway::http {
namespace {

TEST(classify, table) {
  struct {
    outcome means;
    std::initializer_list<int> statuses;
  } const rows[] = {
      {outcome::throttle, {429, 503}},
      {outcome::failure, {408, 500, 501, 502, 504, 507, 520, 524, 529, 599}},
      {outcome::failure, {0, 99, 600, 999}},
      {outcome::success, {100, 200, 201, 202, 204, 206, 301, 304, 307}},
      {outcome::success, {400, 401, 402, 403, 404, 409, 413, 418, 425, 428, 430, 451, 499}},
  };
  for (auto const& row : rows)
    for (int const status : row.statuses) EXPECT_EQ(classify(status), row.means) << status;
}

}  // namespace
}  // namespace headway::http
