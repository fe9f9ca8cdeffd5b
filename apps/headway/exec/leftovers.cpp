#include "exec/leftovers.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

namespace headway::app {

namespace fs = std::filesystem;

std::string mark_of(std::string const& path) {
  std::error_code none;
  auto const whole = fs::weakly_canonical(fs::absolute(path), none).string();
  return fmt::format("{:016x}", std::hash<std::string>{}(whole));
}

std::vector<pid_t> leftovers(std::string_view mark) {
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

}  // namespace headway::app
