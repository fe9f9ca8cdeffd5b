/// A member of a limit at a board, for tests: board_client URL. Sends until a line comes, and then,
/// when it coasts, claims a turn by a clock that was read before its last report; says whether the
/// turn is still promised, as a governor requires.
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "headway/postgres/board.hpp"

namespace {

using namespace headway;
using namespace std::chrono_literals;

time_point steady_now() {
  return time_point(std::chrono::steady_clock::now().time_since_epoch());
}

bool promises(pace const& p, time_point now) {
  return p.ready_at(1) <= now && p.allowed() > 0;
}

/// Sends for as long as `goes_on`, each request at once answered.
template <class Condition>
void send_while(pace& p, Condition goes_on) {
  for (; goes_on(); std::this_thread::sleep_for(5ms)) {
    auto const now = steady_now();
    p.refresh(now, 0, 10);
    if (!promises(p, now) || !p.claim(now, 1, 0)) continue;
    auto const sent = p.take(now, 1, 0);
    p.on_success(now, {.sent = sent, .in_flight = 1, .rtt = 5ms}, 0);
  }
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 2) return 2;
  postgres::board board(postgres::endpoint(arguments[1]), {.name = "client", .version = "1"});
  auto const p = board.join("key", "title", any_law{seek{}}, {});
  send_while(*p, [] {
    pollfd line = {STDIN_FILENO, POLLIN, 0};
    return poll(&line, 1, 0) == 0;
  });
  auto const patience = steady_now() + 20s;
  send_while(*p, [&] { return !p->look().coasts && steady_now() < patience; });
  for (auto tries = 0; tries < 20; ++tries) {
    auto const now = steady_now();
    p->refresh(now, 0, 10);
    std::this_thread::sleep_for(250ms);  // it reports
    if (!p->claim(now, 1, 0)) continue;
    std::cout << (promises(*p, now) ? "promised" : "not any longer") << std::endl;
    return 0;
  }
  std::cout << "no turn" << std::endl;
} catch (std::exception const& e) {
  std::cout << e.what() << std::endl;
  return 1;
}
