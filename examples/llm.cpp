// Calls that cost unequally: a quota of tokens a minute beside the limit that the law finds, and a
// scope for each model.

#include <headway/driver/blocking.hpp>

#include <cstdio>
#include <string>

namespace {

struct completion {
  int status;
  std::string text;
};

/// Stands for a client of yours. An API counts what is asked for and what may be answered.
completion complete(std::string const& prompt) {
  return {200, "an answer to " + prompt};
}
std::int64_t tokens_of(std::string const& prompt, std::int64_t tokens_max) {
  return static_cast<std::int64_t>(prompt.size() / 4) + tokens_max;
}

headway::outcome judge(completion const& c) {
  return c.status == 429 ? headway::outcome::throttle : headway::outcome::success;
}

}  // namespace

int main() {
  using namespace std::chrono_literals;
  headway::default_governor const governor(
      {}, {.level = 5'000}, {.rate_ceiling = headway::gcra::per(90'000, 1min, 5'000)});
  headway::throttled api(governor);

  std::string const prompt = "Say hello";
  for (auto const* model : {"small", "large"}) {
    auto const answer = api.scope(model)->call(
        [&] { return complete(prompt); }, judge,
        {.cost = tokens_of(prompt, 1'000), .deadline = headway::steady_now() + 30s});
    std::printf("%s: %s\n", model, answer.text.c_str());
  }

  // 5,000 at once: one that needs more goes on credit, and the next waits until it is paid off.
  auto const book = api.try_call([&] { return complete(prompt); }, judge, {.cost = 100'000});
  auto const next = api.try_call([&] { return complete(prompt); }, judge,
                                 {.deadline = headway::steady_now() + 1s});
  std::puts(book && !next ? "the next one would wait for a minute" : "no credit");
  return book && !next ? 0 : 1;
}
