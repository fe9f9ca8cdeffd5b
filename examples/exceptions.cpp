// A client that throws: the classifier sees exceptions, too. What may have been carried out and
// must not be repeated is not sent again.

#include <headway/driver/blocking.hpp>

#include <cstdio>
#include <stdexcept>

namespace {

struct slow_down : std::runtime_error {
  using runtime_error::runtime_error;
};
struct connection_lost : std::runtime_error {
  using runtime_error::runtime_error;
};

int sent = 0;

/// Stands for a client of yours that creates an order: throttled, served, then cut off.
int create_order() {
  ++sent;
  if (sent == 1) throw slow_down("503 SlowDown");
  if (sent == 3) throw connection_lost("no answer: created or not?");
  return 201;
}

}  // namespace

int main() {
  headway::throttled api;
  auto const judge = headway::classify_both{
      [](int) { return headway::attempt_result{}; },
      [](std::exception_ptr thrown) -> headway::attempt_result {
        try {
          std::rethrow_exception(thrown);
        } catch (slow_down const&) {
          return {.what = headway::outcome::throttle};  // not carried out: it goes again
        } catch (connection_lost const&) {
          return {.what = headway::outcome::failure, .may_retry = false};
        } catch (...) {
          return {.what = headway::outcome::ignore};  // says nothing about the limit
        }
      }};

  int const first = api.call(create_order, judge);
  try {
    api.call(create_order, judge);
  } catch (connection_lost const& e) {
    std::printf("sent %d times, %s\n", sent, e.what());
    return first == 201 && sent == 3 ? 0 : 1;
  }
  return 1;
}
