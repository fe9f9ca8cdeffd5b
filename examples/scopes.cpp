// A limit for each region: every scope learns its own, and a hint may hold all of a prefix.

#include <headway/driver/blocking.hpp>

#include <cstdio>
#include <string>

int main() {
  using namespace std::chrono_literals;
  headway::throttled api;
  auto const ask = [&](std::string const& scope) {
    auto const answer = api.scope(scope)->try_call(
        [&] { return "an answer of " + scope; },
        [](std::string const&) { return headway::outcome::success; },
        {.deadline = headway::steady_now() + 100ms});  // no later than this, or not at all
    std::puts(answer ? answer->c_str() : ("nothing of " + scope).c_str());
    return answer.has_value();
  };

  bool right = ask("eu/orders") && ask("us/orders");
  api.hold("eu/", headway::steady_now() + 1min);  // "all of eu: come back in a minute"
  right = right && !ask("eu/orders") && !ask("eu/new") && ask("us/orders");
  return right ? 0 : 1;
}
