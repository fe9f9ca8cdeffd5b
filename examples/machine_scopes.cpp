// A server that forks its workers: of each bucket they share one limit, made before the fork.

#include <headway/driver/blocking.hpp>
#include <headway/driver/machine_scopes.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

using namespace std::chrono_literals;

// Stands for the API: of the bucket `photos` it wants to hear no more for a minute.
headway::attempt_result get(std::string const& bucket) {
  if (bucket != "photos") return {};
  return {.what = headway::outcome::throttle, .advice = {.retry_after = 1min}};
}

int main() {
  auto const key = "https://s3.example/" + std::to_string(getpid());
  headway::basic_throttled api(headway::machine_scopes{key});
  auto const served = [&](std::string const& bucket) {
    auto const answer = api.scope(bucket)->try_call(
        [&] { return get(bucket); }, [](auto said) { return said; },
        {.deadline = headway::steady_now() + 100ms});  // no later than this, or not at all
    return answer && answer->what == headway::outcome::success;
  };

  auto const photos = api.scope("photos");  // one of its members is the parent, from here on
  if (fork() == 0) _exit(served("photos") || !served("music"));  // a worker is told to wait
  int status = 0;
  wait(&status);
  bool const held = !served("photos") && photos->metrics().sent == 0;  // the parent does not ask
  bool const right = status == 0 && held && served("music");
  std::puts(right ? "photos is held in every worker, music is not" : "not as it should be");
  return right ? 0 : 1;
}
