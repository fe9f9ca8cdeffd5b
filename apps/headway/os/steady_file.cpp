#include "os/steady_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fatal.hpp"
#include "base/sha256.hpp"

namespace headway::app {

steady_file::steady_file(file opened)
    : file_(std::move(opened)), size_(file_.regular() ? file_.size() : 0) {}

std::string_view steady_file::block(std::size_t number) {
  auto const refuse = [&](std::string_view why) {
    throw fatal(exit_usage, fmt::format("{}: {}", file_.path(), why));
  };
  auto const begin = static_cast<std::int64_t>(number * block_bytes);
  if (begin >= size_) return {};
  block_.resize(std::min(block_bytes, static_cast<std::size_t>(size_ - begin)));
  for (std::size_t done = 0; done < block_.size();) {
    auto const n = ::pread(fd(), block_.data() + done, block_.size() - done,
                           begin + static_cast<std::int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(fmt::format("cannot read it: {}", std::strerror(errno)));
    if (n == 0) refuse("became shorter while it was being read");
    done += static_cast<std::size_t>(n);
  }

  auto const whole = sha256(block_);
  digest now{};
  std::copy_n(whole.begin(), now.size(), now.begin());
  if (number == known_.size())
    known_.push_back(now);
  else if (known_[number] != now)
    refuse(fmt::format("was edited in place after it was checked, between its bytes {} and {}",
                       begin + 1, begin + static_cast<std::int64_t>(block_.size())));
  return block_;
}

}  // namespace headway::app
