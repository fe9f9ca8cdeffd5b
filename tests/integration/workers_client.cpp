// Workers, each forked by the one before, whose threads fetch URL/SCOPE/WORKER/1 … by what the
// first had made before it forked: one limit for each scope. For machine_test.py. Usage:
// workers_client URL WORKERS THREADS REQUESTS SCOPE…, the requests of each worker

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "fetch.hpp"
#include "headway/driver/blocking.hpp"
#include "headway/driver/machine_scopes.hpp"

int main(int argc, char** argv) {
  if (argc < 6)
    return std::fprintf(stderr, "usage: %s URL WORKERS THREADS REQUESTS SCOPE…\n", argv[0]), 2;
  std::string const url = argv[1];
  int const workers = std::stoi(argv[2]), threads = std::stoi(argv[3]), last = std::stoi(argv[4]);
  std::vector<std::string> const scopes(argv + 5, argv + argc);

  curl_global_init(CURL_GLOBAL_DEFAULT);
  headway::basic_throttled api(headway::machine_scopes{url});
  for (auto const& scope : scopes) api.scope(scope);
  int me = 0;
  while (me + 1 < workers && fork() == 0) ++me;
  std::printf("%d %d\n", me, getpid());
  std::fflush(stdout);

  std::atomic<int> next = 1;
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i)
      all.emplace_back([&] {
        headway::test::browser browser;
        for (int n = next++; n <= last; n = next++) {
          auto const& scope = scopes[static_cast<std::size_t>(n) % scopes.size()];
          auto const what = url + '/' + scope + '/' + std::to_string(me) + '/' + std::to_string(n);
          api.scope(scope)->call([&] { return browser.fetch(what); }, headway::test::judge);
        }
      });
  }
  wait(nullptr);
}
