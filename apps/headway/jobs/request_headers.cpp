#include "jobs/request_headers.hpp"

#include "client/headers.hpp"

namespace headway::app {

std::vector<std::string> request_headers(job const& j, std::span<std::string const> given) {
  auto lines = j.headers;
  for (auto const& line : given)
    if (!has_header(j.headers, name_of(line))) lines.push_back(line);
  if (j.json_body && !has_header(lines, "Content-Type"))
    lines.emplace_back("Content-Type: application/json");
  if (!j.idempotency_key.empty() && !has_header(lines, "Idempotency-Key"))
    lines.push_back("Idempotency-Key: " + j.idempotency_key);
  return lines;
}

}  // namespace headway::app
