/// A client of headway::postgres, for tests: postgres_client URL (arguments|environment)
/// [STATEMENT_MS]. Carries out a line of standard input each and says what came of it.
#include <chrono>
#include <iostream>
#include <string>
#include <thread>

#include "headway/driver/clock.hpp"
#include "headway/postgres/connection.hpp"
#include "headway/postgres/schema.hpp"

namespace {

using namespace headway::postgres;
using namespace std::chrono_literals;

void say(error const& e) {
  constexpr char const* kinds[] = {"usage", "unavailable", "unknown_fate", "refused"};
  std::cout << kinds[static_cast<int>(e.kind)] << ' ' << (e.sqlstate.empty() ? "-" : e.sqlstate)
            << ' ' << e.what() << std::endl;
}

void carry_out(connection& database, endpoint const& where, std::string const& line) {
  auto const space = line.find(' ');
  auto const verb = line.substr(0, space);
  auto const rest = space == line.npos ? "" : line.substr(space + 1);
  if (verb == "execute") {
    auto const found = database.execute(rest);
    std::cout << "ok";
    for (int row = 0; row < found.size(); ++row)
      std::cout << ' ' << (found.null(row, 0) ? "null" : found.text(row, 0));
    std::cout << std::endl;
  } else if (verb == "send") {  // so many bytes
    std::string const all(std::stoul(rest), 'x');
    std::cout << "ok " << database.execute("select octet_length($1)", {all}).number(0, 0)
              << std::endl;
  } else if (verb == "script") {
    database.script(rest);
    std::cout << "ok" << std::endl;
  } else if (verb == "schema") {
    ensure_schema(database, where);
    std::cout << "ok" << std::endl;
  } else if (verb == "listen") {
    database.listen(rest);
    std::cout << "ok" << std::endl;
  } else if (verb == "wait") {
    std::cout << "heard";
    auto const until = headway::steady_now() + std::chrono::milliseconds(stoi(rest));
    for (auto const& [channel, payload] : database.wait(until))
      std::cout << ' ' << channel << '=' << payload;
    std::cout << std::endl;
  } else if (verb == "woken") {  // a wait that another thread ends
    std::jthread const waker([&] { database.wake(); });
    database.wait(headway::steady_now() + 1h);
    std::cout << "ok" << std::endl;
  } else if (verb == "pooled") {
    std::cout << (database.pooled() ? "yes" : "no") << std::endl;
  } else if (verb == "lost") {
    std::cout << (database.lost() ? "yes" : "no") << std::endl;
  } else {
    std::cout << "no such verb" << std::endl;
  }
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 3) return 2;
  endpoint const where(arguments[1], arguments[2] == std::string("arguments")
                                         ? source::arguments
                                         : source::environment);
  std::cout << where.name() << ' ' << where.warning() << std::endl;
  patience waits;
  if (count > 3) waits.statement = std::chrono::milliseconds(std::stoi(arguments[3]));
  connection database(where, waits);
  std::cout << "connected" << std::endl;
  for (std::string line; std::getline(std::cin, line);) try {
      carry_out(database, where, line);
    } catch (error const& e) {
      say(e);
    }
} catch (error const& e) {
  say(e);
  return 1;
}
