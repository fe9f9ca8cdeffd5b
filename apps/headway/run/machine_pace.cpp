#include "run/machine_pace.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "command.hpp"

namespace headway::app {
namespace {

constexpr duration permits_looked_at = 5ms;      // while others hold what we wait for
constexpr duration members_looked_at = 100ms;    // whether they live, and whether the pace rose
constexpr duration stopped_after = 300ms;        // without a look: nobody waits for it
constexpr duration moment = 1ms;                 // less than a law forgives whoever is late
constexpr int door = machine_pace::members_max;  // a byte that all members lock, shared

std::string from_environment(char const* name) {
  auto const* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): at the start
  return value != nullptr ? value : "";
}

/// Of the key and of this boot, whose clock the state is told in.
std::string digest(std::string_view key) {
  std::string all;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> all;
  all.append("\n").append(key);
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  if (EVP_Digest(all.data(), all.size(), hash.data(), nullptr, EVP_sha256(), nullptr) != 1)
    throw fatal(exit_io, "SHA-256 is not available");
  std::string hex;
  for (std::size_t i = 0; i < 16; ++i) hex += fmt::format("{:02x}", hash[i]);
  return hex;
}

fatal broken(std::string const& path) {
  return {exit_io, fmt::format("{}: {}", path, std::strerror(errno))};
}

/// Ours alone, or nothing that we trust.
bool private_to_us(struct stat const& about) noexcept {
  return about.st_uid == geteuid() && (about.st_mode & 077) == 0;
}

}  // namespace

std::string machine_pace::default_folder() {
  auto const runtime = from_environment("XDG_RUNTIME_DIR");
  if (!runtime.empty()) return runtime + "/headway";
  auto const user = fmt::format("/run/user/{}", geteuid());
  struct stat about {};
  if (stat(user.c_str(), &about) == 0 && private_to_us(about)) return user + "/headway";
  auto const temporary = from_environment("TMPDIR");
  return fmt::format("{}/headway-{}", temporary.empty() ? "/tmp" : temporary, geteuid());
}

machine_pace::machine_pace(std::string const& folder, std::string_view key, any_law const& begins)
    : name_(fmt::format("{}-{}-{}", HEADWAY_VERSION, sizeof(state), digest(key))) {
  open(folder);
  while (me_ < members_max && !lock(F_WRLCK, me_)) ++me_;
  if (me_ == members_max)
    throw fatal(exit_io, fmt::format("{}: {} processes share it, which is the most", file_->path(),
                                     members_max));
  auto* const at =
      mmap(nullptr, sizeof(layout), PROT_READ | PROT_WRITE, MAP_SHARED, file_->fd(), 0);
  if (at == MAP_FAILED) throw broken(file_->path());
  map_ = static_cast<layout*>(at);
  std::uint64_t magic = 0;
  if (!map_->magic.compare_exchange_strong(magic, magic_value) && magic != magic_value) {
    munmap(at, sizeof(layout));
    throw fatal(exit_io,
                fmt::format("{} is not a shared pace; it is left as it is", file_->path()));
  }
  act([&](state& s) {
    mine(s) = {};  // of a member who died there
    bury(s);
    if (std::ranges::none_of(s.members, &member::here)) s = {.law = begins};
    mine(s) = {.here = true};
  });
}

machine_pace::~machine_pace() {
  act([&](state& s) { mine(s) = {}; });
  munmap(map_, sizeof(layout));
  if (lock(F_WRLCK, door)) unlinkat(folder_->fd(), name_.c_str(), 0);  // the last one
}

void machine_pace::open(std::string const& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) throw broken(folder);
  auto const fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) throw broken(folder);
  folder_.emplace(fd, folder);
  struct stat about {};
  if (fstat(fd, &about) != 0 || !private_to_us(about))
    throw fatal(exit_io, fmt::format("{} is not this user's own folder of mode 0700", folder));
  for (int tries = 0; !open_file(); ++tries) {  // somebody is removing it
    if (tries == 100) throw fatal(exit_io, file_->path() + " is being removed for too long");
    std::this_thread::sleep_for(1ms);
  }
}

/// False where another process has removed it, or is about to.
bool machine_pace::open_file() {
  auto path = folder_->path() + '/' + name_;
  auto const fd = openat(folder_->fd(), name_.c_str(),
                         O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
  if (fd < 0) throw broken(path);
  file_.emplace(fd, std::move(path));
  if (!lock(F_RDLCK, door)) return false;
  struct stat about {};
  if (fstat(fd, &about) != 0) throw broken(file_->path());
  if (about.st_nlink == 0) return false;
  auto const size = static_cast<off_t>(sizeof(layout));
  if (!S_ISREG(about.st_mode) || !private_to_us(about) || about.st_nlink != 1 ||
      (about.st_size != 0 && about.st_size != size))
    throw fatal(exit_io, fmt::format("{} is not a shared pace of this user; it is left as it is",
                                     file_->path()));
  if (auto const error = posix_fallocate(fd, 0, size); error != 0) {
    errno = error;
    throw broken(file_->path());
  }
  return true;
}

bool machine_pace::lock(short how, int byte) const noexcept {
  struct flock what {};
  what.l_type = how;
  what.l_whence = SEEK_SET;
  what.l_start = byte;
  what.l_len = 1;
  return fcntl(file_->fd(), F_OFD_SETLK, &what) == 0;
}

bool machine_pace::alive(int whose) const noexcept {
  struct flock what {};
  what.l_type = F_WRLCK;
  what.l_whence = SEEK_SET;
  what.l_start = whose;
  what.l_len = 1;
  return fcntl(file_->fd(), F_OFD_GETLK, &what) != 0 || what.l_type != F_UNLCK;
}

/// The valid state, and the head that says so. Who overwrote a page while it was read had seen a
/// later head before, and so do we then.
std::uint64_t machine_pace::read(state& s) const noexcept {
  std::array<std::uint64_t, words> copy;
  for (;;) {
    auto const head = map_->head.load(std::memory_order_acquire);
    auto const& valid = map_->pages[(head & page_mask) % map_->pages.size()];
    for (std::size_t i = 0; i < words; ++i) copy[i] = valid[i].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (map_->head.load(std::memory_order_relaxed) != head) continue;
    std::memcpy(static_cast<void*>(&s), copy.data(), sizeof s);
    return head;
  }
}

/// Makes `s` the valid state, unless somebody acted after `before`.
bool machine_pace::publish(std::uint64_t before, state const& s) noexcept {
  auto at = static_cast<std::uint64_t>(me_) * 2;
  if ((before & page_mask) == at) ++at;
  std::array<std::uint64_t, words> copy{};
  std::memcpy(copy.data(), &s, sizeof s);
  std::atomic_thread_fence(std::memory_order_release);
  for (std::size_t i = 0; i < words; ++i)
    map_->pages[at][i].store(copy[i], std::memory_order_relaxed);
  auto const after = ((before >> page_bits) + 1) << page_bits | at;
  return map_->head.compare_exchange_strong(before, after, std::memory_order_release,
                                            std::memory_order_relaxed);
}

template <class F>
void machine_pace::act(F f) noexcept {
  for (;;) {
    auto const before = read(seen_);
    f(seen_);
    if (publish(before, seen_)) return;
  }
}

void machine_pace::bury(state& s) const noexcept {
  for (int i = 0; i < members_max; ++i) {
    auto& theirs = s.members[static_cast<std::size_t>(i)];
    if (i != me_ && theirs.here && !alive(i)) theirs = {};
  }
}

int machine_pace::out(state const& s) noexcept {
  int sum = 0;
  for (auto const& each : s.members) sum += each.out;
  return sum;
}

/// How long we let those go first who wait for longer.
duration machine_pace::deference(state const& s, time_point now) const noexcept {
  auto const first = std::ranges::count_if(s.members, [&](member const& m) {
    return m.here && m.waits && m.took < mine(s).took && later(m.looked, stopped_after) > now;
  });
  auto next = s.law;
  auto const turn = std::max(now, next.ready_at(1));
  next.take(turn, 1, {});
  return first * std::clamp((next.ready_at(1) - turn) / 2, duration(0), moment);
}

void machine_pace::refresh(time_point now, int out, bool waits) noexcept {
  read(seen_);
  auto const looks = now >= later(mine(seen_).looked, members_looked_at);
  if (looks || mine(seen_).out != out || mine(seen_).waits != waits)
    act([&](state& s) {
      if (looks) {
        bury(s);
        mine(s).looked = now;
      }
      mine(s).out = out;
      mine(s).waits = waits;
    });
  deference_ = deference(seen_, now);
}

bool machine_pace::claim(time_point now, std::int64_t cost, fraction u) noexcept {
  for (;;) {
    auto const before = read(seen_);
    deference_ = deference(seen_, now);
    if (seen_.held > now || ready_at(cost) > now || out(seen_) >= seen_.law.allowed()) return false;
    auto s = seen_;
    claimed_ = s.law.take(now, cost, u);
    claimed_->in_flight = out(s) + 1;
    ++mine(s).out;
    mine(s).took = now;
    if (publish(before, s)) return true;  // seen_ stays as it was promised, until take()
    claimed_.reset();
  }
}

time_point machine_pace::look_again(time_point now) const noexcept {
  auto const permits = others_out() > 0 && out(seen_) >= seen_.law.allowed();
  return later(now, permits ? permits_looked_at : members_looked_at);
}

stamp machine_pace::take(time_point now, std::int64_t cost, fraction u) noexcept {
  auto permit = claimed_;
  if (!permit)
    act([&](state& s) {
      permit = s.law.take(now, cost, u);
      permit->in_flight = out(s) + 1;
      ++mine(s).out;
      mine(s).took = now;
    });
  claimed_.reset();
  read(seen_);
  deference_ = deference(seen_, now);
  return *permit;
}

sample machine_pace::of_all(sample s) const noexcept {
  s.in_flight += others_out();
  return s;
}

void machine_pace::on_success(time_point now, sample const& s, fraction u) noexcept {
  act([&](state& all) { all.law.on_success(now, of_all(s), u); });
}

void machine_pace::on_throttle(time_point now, sample const& s, resource r, fraction u) noexcept {
  act([&](state& all) { all.law.on_throttle(now, of_all(s), r, u); });
}

void machine_pace::on_failure(time_point now, sample const& s, fraction u) noexcept {
  act([&](state& all) { all.law.on_failure(now, of_all(s), u); });
}

void machine_pace::on_hint(time_point now, hint const& h) noexcept {
  act([&](state& all) {
    if (h.retry_after)
      all.held = std::max(all.held, later(now, std::max(*h.retry_after, duration(0))));
    all.law.on_hint(now, h);
  });
}

}  // namespace headway::app
