#include "headway/driver/machine_pace.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "headway/driver/clock.hpp"
#include "pace_layout.hpp"

namespace headway {
namespace {

constexpr int tries_max = 100'000;  // while others publish: a tenth of a second
constexpr int seats = machine_pace::members_max;
constexpr int door = seats;     // a byte that all members lock, shared
constexpr char protocol = '2';  // how members act on the file

/// A child's are one more than its parent's.
std::atomic<unsigned> forks{0};
[[maybe_unused]] int const counted = pthread_atfork(nullptr, nullptr, [] { ++forks; });

std::string from_environment(char const* name) {
  auto const* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): see the contract
  return value != nullptr ? value : "";
}

/// Of a value, and of the version that makes it valid. Source: J. G. Fletcher, "An arithmetic
/// checksum for serial transmissions" (1982), of words.
class checksum {
 public:
  explicit checksum(std::uint64_t version) noexcept : a_(version) {}
  std::uint64_t add(std::uint64_t word) noexcept {
    b_ += a_ += word;
    return word;
  }
  std::uint64_t sum() const noexcept { return a_ ^ std::rotl(b_, 32); }

 private:
  std::uint64_t a_;
  std::uint64_t b_ = 0x9e3779b97f4a7c15U;
};

/// Of the key, and of this boot and time namespace, since the state has times of their clock. Only
/// the user can choose keys that collide. Source: FNV-1a, twice, from different bases.
std::string digest(std::string_view key) {
  std::string all;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> all;
  std::error_code unknown;
  all.append("\n").append(std::filesystem::read_symlink("/proc/self/ns/time", unknown).native());
  all.append("\n").append(key);
  std::string hex;
  for (std::uint64_t hash : {0xcbf29ce484222325U, 0x9e3779b97f4a7c15U}) {
    for (auto const c : all) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    for (int shift = 60; shift >= 0; shift -= 4) hex += "0123456789abcdef"[hash >> shift & 15U];
  }
  return hex;
}

std::system_error refused_by_system(std::string const& path, int error = errno) {
  return {error, std::generic_category(), path};
}

/// Ours alone, or nothing that we trust.
bool private_to_us(struct stat const& about) noexcept {
  return about.st_uid == geteuid() && (about.st_mode & 077) == 0;
}

struct flock lock_on(short how, int byte) noexcept {
  struct flock what {};
  what.l_type = how;
  what.l_whence = SEEK_SET;
  what.l_start = byte;
  what.l_len = 1;
  return what;
}

bool set_lock(int fd, short how, int byte) noexcept {
  auto what = lock_on(how, byte);
  return fcntl(fd, F_OFD_SETLK, &what) == 0;
}

/// Removes the file if no process uses it. One that joins meanwhile waits, and makes another.
void remove_unused(int folder, char const* name, int fd) noexcept {
  struct stat about {};
  if (set_lock(fd, F_WRLCK, door) && fstat(fd, &about) == 0 && about.st_nlink > 0)
    unlinkat(folder, name, 0);
}

/// Closes what it holds, unless that was taken from it.
class descriptor {
 public:
  explicit descriptor(int fd = -1) noexcept : fd_(fd) {}
  descriptor(descriptor&& other) noexcept : fd_(other.take()) {}
  descriptor& operator=(descriptor&&) = delete;
  ~descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int get() const noexcept { return fd_; }
  int take() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// A mapped file: what was published lies in one of two places that its writer owns.
class machine_page final : public page {
 public:
  machine_page(std::string folder, std::string name);
  ~machine_page() override;

  version latest() const noexcept override { return map_->head.load(std::memory_order_acquire); }
  bool read(version& seen, common_pace& value) const noexcept override;
  bool publish(version& seen, common_pace const& value) noexcept override;

  int seat() const noexcept override { return seat_; }
  bool taken(int seat) const noexcept override;
  bool inherited() const noexcept override {
    return joined_ != forks.load(std::memory_order_relaxed);
  }
  std::unique_ptr<page> join_anew() const noexcept override;
  time_point now() const noexcept override { return steady_now(); }

  static constexpr std::size_t size() noexcept { return sizeof(layout); }

 private:
  static constexpr std::size_t words = sizeof(common_pace) / sizeof(std::uint64_t);
  static_assert(words * sizeof(std::uint64_t) == sizeof(common_pace));
  using place = std::array<std::atomic<std::uint64_t>, words + 1>;  // a value, and its sum
  struct layout {
    std::atomic<std::uint64_t> magic;
    alignas(64) std::atomic<version> head;  // count of acts, and which place is valid
    std::array<place, std::size_t{2} * seats> places;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  static constexpr int place_bits = 8;
  static constexpr version place_mask = (1U << place_bits) - 1;
  static constexpr std::uint64_t magic_value =  // "HdwPace" and the protocol
      std::uint64_t{protocol} << 56 | 0x65636150776448;

  descriptor open() const;
  descriptor open_file(int folder) const;
  void sweep(int folder) const noexcept;

  std::string const folder_;
  std::string const name_;
  std::string const path_;
  unsigned const joined_ = forks;  // after so many forks
  int seat_ = 0;
  int fd_ = -1;  // without a lock: to ask whether others live
  layout* map_;  // which holds our locks, and no child inherits
};

/// What is locked is so until the mapping is gone: that is what holds the file open. A child has
/// neither, hence nothing of ours depends on how long it lives.
machine_page::machine_page(std::string folder, std::string name)
    : folder_(std::move(folder)), name_(std::move(name)), path_(folder_ + '/' + name_) {
  descriptor const locks = open();
  while (seat_ < seats && !set_lock(locks.get(), F_WRLCK, seat_)) ++seat_;
  if (seat_ == seats)
    throw std::runtime_error(path_ + ": " + std::to_string(seats) +
                             " processes share it, which is the most");
  descriptor asks(::open(path_.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!asks) throw refused_by_system(path_);
  auto* const at =
      mmap(nullptr, sizeof(layout), PROT_READ | PROT_WRITE, MAP_SHARED, locks.get(), 0);
  if (at == MAP_FAILED) throw refused_by_system(path_);
  map_ = static_cast<layout*>(at);
  std::uint64_t magic = 0;
  if (!map_->magic.compare_exchange_strong(magic, magic_value) && magic != magic_value) {
    munmap(at, sizeof(layout));
    throw std::runtime_error(path_ + " is not a shared pace; it is left as it is");
  }
  madvise(at, sizeof(layout), MADV_DONTFORK);
  fd_ = asks.take();
}

machine_page::~machine_page() {
  if (!inherited()) {
    munmap(map_, sizeof(layout));
    remove_unused(AT_FDCWD, path_.c_str(), fd_);
  }
  close(fd_);
}

std::unique_ptr<page> machine_page::join_anew() const noexcept try {
  return std::make_unique<machine_page>(folder_, name_);
} catch (...) {
  return nullptr;
}

/// The file, whose door is locked.
descriptor machine_page::open() const {
  rlimit most{};  // beyond it a signal comes, which ends the process
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < sizeof(layout))
    throw refused_by_system(path_, EFBIG);
  if (mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) throw refused_by_system(folder_);
  descriptor const within(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat about {};
  if (!within ? errno == ELOOP || errno == ENOTDIR
              : fstat(within.get(), &about) != 0 || !private_to_us(about))
    throw std::runtime_error(folder_ + " is not this user's own folder of mode 0700");
  if (!within) throw refused_by_system(folder_);
  sweep(within.get());
  for (int tries = 0; tries < 100; ++tries) {
    if (auto opened = open_file(within.get())) return opened;
    std::this_thread::sleep_for(1ms);  // another process is removing it
  }
  throw std::runtime_error(path_ + " is being removed for too long");
}

/// Nothing where another process has removed it, or is about to.
descriptor machine_page::open_file(int folder) const {
  descriptor opened(
      openat(folder, name_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  auto const fd = opened.get();
  auto const not_ours = path_ + " is not a shared pace of this user; it is left as it is";
  if (!opened && errno == ELOOP) throw std::runtime_error(not_ours);
  if (!opened) throw refused_by_system(path_);
  if (!set_lock(fd, F_RDLCK, door)) {
    if (errno == EAGAIN || errno == EACCES) return descriptor();
    throw refused_by_system(path_);
  }
  struct stat about {};
  if (fstat(fd, &about) != 0) throw refused_by_system(path_);
  if (about.st_nlink == 0) return descriptor();
  auto const size = static_cast<off_t>(sizeof(layout));
  if (!S_ISREG(about.st_mode) || !private_to_us(about) || about.st_nlink != 1 ||
      (about.st_size != 0 && about.st_size != size))
    throw std::runtime_error(not_ours);
  if (auto const error = posix_fallocate(fd, 0, size); error != 0) {
    if (about.st_size == 0) unlinkat(folder, name_.c_str(), 0);
    throw refused_by_system(path_, error);
  }
  return opened;
}

/// Removes the paces that only dead processes left, and that no other process would join.
void machine_page::sweep(int folder) const noexcept {
  auto* const entries = fdopendir(dup(folder));
  if (entries == nullptr) return;
  auto const ours = std::string_view(name_).substr(0, name_.rfind('-') + 1);
  while (auto const* const entry = readdir(entries)) {  // NOLINT(concurrency-mt-unsafe): our own
    std::string_view const found = entry->d_name;
    if (!found.starts_with(ours) || found == name_) continue;
    descriptor const left(openat(folder, entry->d_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (left) remove_unused(folder, entry->d_name, left.get());
  }
  closedir(entries);
}

bool machine_page::taken(int seat) const noexcept {
  auto what = lock_on(F_WRLCK, seat);
  return fcntl(fd_, F_OFD_GETLK, &what) != 0 || what.l_type != F_UNLCK;
}

/// A process that overwrote a place while it was read had seen a later head before, and so do we
/// then.
bool machine_page::read(version& seen, common_pace& value) const noexcept {
  std::array<std::uint64_t, words> copy;
  for (int tries = 0; tries < tries_max; ++tries) {
    seen = latest();
    auto const at = seen & place_mask;
    if (seen == 0 || at >= map_->places.size()) return false;
    auto const& valid = map_->places[at];
    checksum check(seen);
    for (std::size_t i = 0; i < words; ++i)
      copy[i] = check.add(valid[i].load(std::memory_order_relaxed));
    auto const sum = valid[words].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (map_->head.load(std::memory_order_relaxed) != seen) continue;
    if (check.sum() != sum) return false;
    std::memcpy(static_cast<void*>(&value), copy.data(), sizeof value);
    return true;
  }
  return false;
}

bool machine_page::publish(version& seen, common_pace const& value) noexcept {
  auto before = seen;
  auto at = static_cast<version>(seat_) * 2;
  if ((before & place_mask) == at) ++at;
  std::array<std::uint64_t, words> copy;
  std::memcpy(copy.data(), &value, sizeof value);
  auto const after = ((before >> place_bits) + 1) << place_bits | at;
  std::atomic_thread_fence(std::memory_order_release);
  auto& ours = map_->places[at];
  checksum check(after);
  for (std::size_t i = 0; i < words; ++i)
    ours[i].store(check.add(copy[i]), std::memory_order_relaxed);
  ours[words].store(check.sum(), std::memory_order_relaxed);
  if (!map_->head.compare_exchange_strong(before, after, std::memory_order_release,
                                          std::memory_order_relaxed))
    return false;
  seen = after;
  return true;
}

/// Builds that act on the file in another way, or read another value in it, use another file.
std::string name_of(std::string_view key) {
  return HEADWAY_VERSION "-" + std::string(1, protocol) + "-" HEADWAY_PACE_LAYOUT "-" +
         std::to_string(machine_page::size()) + "-" + digest(key);
}

}  // namespace

std::string machine_pace::default_folder() {
  for (auto const& runtime :
       {from_environment("XDG_RUNTIME_DIR"), "/run/user/" + std::to_string(geteuid())}) {
    struct stat about {};
    if (!runtime.empty() && stat(runtime.c_str(), &about) == 0 && private_to_us(about))
      return runtime + "/headway";
  }
  auto const temporary = from_environment("TMPDIR");
  return (temporary.empty() ? "/tmp" : temporary) + "/headway-" + std::to_string(geteuid());
}

machine_pace::machine_pace(std::string const& folder, std::string_view key, any_law const& begins,
                           duration patience)
    : paged_pace(open(folder, key), begins, patience) {}

std::unique_ptr<page> machine_pace::open(std::string const& folder, std::string_view key) {
  return std::make_unique<machine_page>(folder, name_of(key));
}

machine_pace::machine_pace(any_law const& begins) noexcept
    : paged_pace(nullptr, begins, duration::max()) {}

}  // namespace headway
