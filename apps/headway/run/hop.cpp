#include "run/hop.hpp"

#include <utility>

#include "client/headers.hpp"
#include "client/redirect.hpp"

namespace headway::app {

bool take_hop(request& r, reply const& answer, run_options const& options) {
  auto hop = next_hop(r.what.method, r.what.url, r.what.origin, answer.status, answer.fields);
  r.said = why_not(hop, r.what.url, r.hops, options.redirects_max);
  if (r.said.empty() && !hop.same_origin && !options.http.sigv4.empty())
    r.said = "the redirect leads to another origin, which --aws-sigv4 does not sign for";
  if (!r.said.empty()) return false;
  r.hops.push_back(std::exchange(r.what.url, std::move(hop.url)));
  r.what.origin = std::move(hop.origin);
  if (!hop.same_origin) r.what.headers = without_credentials(r.what.headers);
  return true;
}

}  // namespace headway::app
