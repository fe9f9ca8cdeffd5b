#include "journal/watermark.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <functional>
#include <string_view>

#include "journal/journal.hpp"

namespace headway::app {
namespace {

constexpr std::uint64_t every_boot = 0;

/// The number of the boot that we are in; every_boot where the kernel does not say.
std::uint64_t this_boot() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  std::uint64_t number = 0;  // FNV-1a
  for (char const c : id) number = (number ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return number;
}

using field = std::array<char, 8>;

field little_endian(std::uint64_t value) {
  field bytes;
  for (auto& byte : bytes) byte = static_cast<char>(value & 0xff), value >>= 8;
  return bytes;
}

std::uint64_t number_in(field const& bytes) {
  std::uint64_t value = 0;
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte)
    value = value << 8 | static_cast<unsigned char>(*byte);
  return value;
}

std::string_view text(field const& bytes) {
  return {bytes.data(), bytes.size()};
}

}  // namespace

std::optional<std::int64_t> watermark::read() const {
  std::ifstream in(path_, std::ios::binary);
  field commits, boot;
  if (!in.read(commits.data(), commits.size()) || !in.read(boot.data(), boot.size()))
    return std::nullopt;
  auto const valid = number_in(boot);
  if (valid != every_boot && valid != this_boot()) return 0;
  return static_cast<std::int64_t>(number_in(commits) & INT64_MAX);
}

void watermark::write(std::int64_t commits, durability level) {
  if (!file_) file_ = file::open(path_, O_RDWR | O_CREAT | O_NOFOLLOW);
  auto const boot = level == durability::power ? every_boot : this_boot();
  file_->overwrite(std::string(text(little_endian(static_cast<std::uint64_t>(commits)))) +
                   std::string(text(little_endian(boot))));
  file_->sync();
  file_->sync_name();
}

void watermark::raise(std::int64_t commits) {
  file_->overwrite(text(little_endian(static_cast<std::uint64_t>(commits))));
}

void watermark::remove() {
  file_.reset();
  disk().unlink(path_.c_str());
}

}  // namespace headway::app
