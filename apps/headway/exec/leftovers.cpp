#include "exec/leftovers.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/sha256.hpp"
#include "base/words.hpp"
#include "headway/time.hpp"

namespace headway::app {

namespace fs = std::filesystem;

std::string mark_of(std::string const& path) {
  std::error_code none;
  auto const whole = fs::weakly_canonical(fs::absolute(path), none).string();
  return digest_in_hex(whole);
}

namespace {

std::vector<pid_t> marked(std::string_view mark) {
  std::vector<pid_t> found;
  auto const wanted = std::string(1, '\0') + mark_name + '=' + std::string(mark) + '\0';
  std::error_code error;
  for (auto const& entry : fs::directory_iterator("/proc", error)) {
    auto const name = entry.path().filename().string();
    pid_t id = 0;
    auto const [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (wrong != std::errc{} || end != name.data() + name.size() || id == ::getpid()) continue;
    std::ifstream in(entry.path() / "environ", std::ios::binary);  // only of our own processes
    std::string const text = '\0' + std::string(std::istreambuf_iterator<char>(in), {});
    if (text.find(wanted) != text.npos) found.push_back(id);
  }
  return found;
}

}  // namespace

std::vector<pid_t> leftovers(std::string_view mark) {
  auto found = marked(mark);
  for (int i = 0; i < 25 && !found.empty(); ++i) {
    std::this_thread::sleep_for(20ms);
    found = marked(mark);
  }
  return found;
}

void mark_commands(std::string const& path, bool resumed) {
  auto const mark = mark_of(path);
  if (auto const found = resumed ? leftovers(mark) : std::vector<pid_t>(); !found.empty())
    say(fmt::format(
        "{} process{} of an earlier run still live{}, the first is {}; they may still write",
        found.size(), found.size() == 1 ? "" : "es", found.size() == 1 ? "s" : "", found.front()));
  ::setenv(mark_name, mark.c_str(), 1);
}

}  // namespace headway::app
