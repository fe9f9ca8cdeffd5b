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

namespace headway {
namespace {

constexpr duration permits_looked_at = 5ms;      // while others hold what we wait for
constexpr duration members_looked_at = 100ms;    // whether they live, and whether the pace rose
constexpr duration stopped_after = 300ms;        // without a look: nobody waits for it
constexpr duration absent_after = 1s;            // … nor for its permits, which have come back
constexpr duration moment = 1ms;                 // less than a law forgives whoever is late
constexpr duration ahead_max = 1s;               // of us, another's act by the same clock
constexpr duration stopped_max = 1h;             // between two statements of ours
constexpr int tries_max = 100'000;               // while others act: a tenth of a second
constexpr int door = machine_pace::members_max;  // a byte that all members lock, shared

/// A child's are one more than its parent's.
std::atomic<unsigned> forks{0};
[[maybe_unused]] int const counted = pthread_atfork(nullptr, nullptr, [] { ++forks; });

std::string from_environment(char const* name) {
  auto const* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): see the contract
  return value != nullptr ? value : "";
}

/// Of what a page says and the act that made it valid. Source: J. G. Fletcher, "An arithmetic
/// checksum for serial transmissions" (1982), of words.
template <class Words>
std::uint64_t sum_of(Words const& all, std::uint64_t head) noexcept {
  auto a = head;
  std::uint64_t b = 0x9e3779b97f4a7c15U;
  for (auto const word : all) b += a += word;
  return a ^ std::rotl(b, 32);
}

/// Of the key, and of this boot and time namespace, whose clock the state is told in. Nobody but
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

/// Removes the file if nobody uses it. Whoever comes meanwhile waits for that, and makes another.
void remove_unused(int folder, char const* name, int fd) noexcept {
  struct stat about {};
  if (set_lock(fd, F_WRLCK, door) && fstat(fd, &about) == 0 && about.st_nlink > 0)
    unlinkat(folder, name, 0);
}

/// Whether a signal has stopped us since we read the clock, so that an act at `acted` is no proof.
bool stopped_since(time_point now, time_point acted) noexcept {
  auto const passed = steady_now() - now;
  return passed > 0ns && passed < stopped_max && acted <= later(now + passed, ahead_max);
}

}  // namespace

/// Closes what it holds, unless that was taken from it.
class machine_pace::descriptor {
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
    : folder_(folder),
      name_(HEADWAY_VERSION "-" + std::to_string(sizeof(layout)) + "-" + digest(key)),
      path_(folder + '/' + name_),
      patience_(patience) {
  join(begins);
}

machine_pace::machine_pace(any_law const& begins) noexcept
    : joined_(forks), begins_(begins), seen_{.law = begins} {}

machine_pace::~machine_pace() {
  if (map_ != nullptr && joined_ == forks) {
    act(never, [&](state& s) { mine(s) = {}; });
    leave();
  }
  if (fd_ >= 0) close(fd_);
}

/// What is locked is so until the mapping is gone: that is what holds the file open. A child has
/// neither, hence nothing of ours depends on how long it lives.
void machine_pace::join(any_law const& begins) {
  joined_ = forks;
  descriptor const locks = open();
  int free = 0;
  while (free < members_max && !set_lock(locks.get(), F_WRLCK, free)) ++free;
  if (free == members_max)
    throw std::runtime_error(path_ + ": " + std::to_string(members_max) +
                             " processes share it, which is the most");
  descriptor asks(::open(path_.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!asks) throw refused_by_system(path_);
  auto* const at =
      mmap(nullptr, sizeof(layout), PROT_READ | PROT_WRITE, MAP_SHARED, locks.get(), 0);
  if (at == MAP_FAILED) throw refused_by_system(path_);
  auto* const map = static_cast<layout*>(at);
  std::uint64_t magic = 0;
  if (!map->magic.compare_exchange_strong(magic, magic_value) && magic != magic_value) {
    munmap(at, sizeof(layout));
    throw std::runtime_error(path_ + " is not a shared pace; it is left as it is");
  }
  madvise(at, sizeof(layout), MADV_DONTFORK);
  map_ = map;
  fd_ = asks.take();
  me_ = free;
  begins_ = begins;
  believed_ = false;
  for (int tries = 0; tries < tries_max && map_ != nullptr; ++tries) {
    seen_head_ = never_seen;
    auto s = copy_page(never) == sight::well ? seen_ : state{};
    mine(s) = {};  // of a member who died there
    bury(s);
    if (std::ranges::none_of(s.members, &member::here)) s = {.law = begins};
    mine(s) = {.here = true};
    if (!publish(s)) continue;
    seen_head_ = never_seen;  // by our clock it was not
    return;
  }
  leave();
}

/// Goes on alone, with the law as it was when we last believed what we saw.
void machine_pace::leave() noexcept {
  auto* const map = std::exchange(map_, nullptr);
  if (map == nullptr) return;
  munmap(map, sizeof(layout));
  remove_unused(AT_FDCWD, path_.c_str(), fd_);
  auto own = mine(seen_);
  own.here = true;
  me_ = 0;
  seen_ = {.law = believed_ ? seen_.law : begins_, .held = believed_ ? seen_.held : held_};
  mine(seen_) = own;
}

/// In the child of a fork, of whose parent's all that it has is a descriptor.
void machine_pace::join_again() noexcept {
  descriptor const parents(std::exchange(fd_, -1));
  auto const shared = std::exchange(map_, nullptr) != nullptr;
  auto const law = seen_.law;
  seen_.members = {};
  me_ = 0;
  joined_ = forks;
  try {
    if (shared) join(law);
  } catch (...) {  // it goes on alone
  }
}

/// The file, whose door is locked.
machine_pace::descriptor machine_pace::open() const {
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
    std::this_thread::sleep_for(1ms);  // somebody is removing it
  }
  throw std::runtime_error(path_ + " is being removed for too long");
}

/// Nothing where another process has removed it, or is about to.
machine_pace::descriptor machine_pace::open_file(int folder) const {
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

/// Removes the paces that only dead processes left, which nobody else would join any more.
void machine_pace::sweep(int folder) const noexcept {
  auto* const entries = fdopendir(dup(folder));
  if (entries == nullptr) return;
  auto const ours = name_.substr(0, name_.rfind('-') + 1);
  while (auto const* const entry = readdir(entries)) {  // NOLINT(concurrency-mt-unsafe): our own
    std::string_view const found = entry->d_name;
    if (!found.starts_with(ours) || found == name_) continue;
    descriptor const left(openat(folder, entry->d_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (left) remove_unused(folder, entry->d_name, left.get());
  }
  closedir(entries);
}

bool machine_pace::alive(int whose) const noexcept {
  auto what = lock_on(F_WRLCK, whose);
  return fcntl(fd_, F_OFD_GETLK, &what) != 0 || what.l_type != F_UNLCK;
}

/// Whether we are a member, and it can have been made by our clock. An act of another lies in our
/// past; a turn lies no further in our future than the pace is slow, and our patience.
bool machine_pace::believable(state const& s, time_point now) const noexcept {
  if (now == never) return true;  // looked at again by the clock
  if (!mine(s).here) return false;
  auto acted = time_point::min();
  for (auto const& each : s.members)
    if (&each != &mine(s) && each.here) acted = std::max({acted, each.looked, each.took});
  if (acted > later(now, ahead_max) && !stopped_since(now, acted)) return false;
  auto const turn = s.law.ready_at(1);
  if (turn <= later(now, patience_)) return true;
  auto next = s.law;
  next.take(turn, 1, {});
  return turn <= later(later(now, patience_), next.ready_at(1) - turn);
}

/// Makes seen_ the valid state, if it is believed. Who overwrote a page while it was read had seen
/// a later head before, and so do we then. `empty`: no member has acted yet.
machine_pace::sight machine_pace::copy_page(time_point now) noexcept {
  std::array<std::uint64_t, words> copy;
  for (int tries = 0; tries < tries_max; ++tries) {
    auto const head = map_->head.load(std::memory_order_acquire);
    if (head == seen_head_) return sight::well;
    auto const at = head & page_mask;
    if (head == 0 || at >= map_->pages.size()) {
      seen_head_ = head;
      return head == 0 ? sight::empty : sight::bad;
    }
    auto const& valid = map_->pages[at];
    for (std::size_t i = 0; i < words; ++i) copy[i] = valid[i].load(std::memory_order_relaxed);
    auto const sum = valid[words].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (map_->head.load(std::memory_order_relaxed) != head) continue;
    seen_head_ = head;
    if (sum_of(copy, head) != sum) return sight::bad;
    state s;
    std::memcpy(static_cast<void*>(&s), copy.data(), sizeof s);
    if (!believable(s, now)) return sight::bad;
    seen_ = s;
    believed_ = now != never;
    return sight::well;
  }
  return sight::bad;
}

void machine_pace::read(time_point now) noexcept {
  if (joined_ != forks.load(std::memory_order_relaxed)) join_again();
  if (map_ != nullptr && copy_page(now) != sight::well) leave();
}

/// Makes `s` the valid state, unless somebody acted after seen_.
bool machine_pace::publish(state const& s) noexcept {
  if (map_ == nullptr) {
    seen_ = s;
    return true;
  }
  auto before = seen_head_;
  auto at = static_cast<std::uint64_t>(me_) * 2;
  if ((before & page_mask) == at) ++at;
  std::array<std::uint64_t, words> copy{};
  std::memcpy(copy.data(), &s, sizeof s);
  auto const after = ((before >> page_bits) + 1) << page_bits | at;
  std::atomic_thread_fence(std::memory_order_release);
  for (std::size_t i = 0; i < words; ++i)
    map_->pages[at][i].store(copy[i], std::memory_order_relaxed);
  map_->pages[at][words].store(sum_of(copy, after), std::memory_order_relaxed);
  if (!map_->head.compare_exchange_strong(before, after, std::memory_order_release,
                                          std::memory_order_relaxed))
    return false;
  seen_ = s;
  seen_head_ = after;
  return true;
}

template <class F>
void machine_pace::act(time_point now, F f) noexcept {
  for (int tries = 1;; ++tries) {
    read(now);
    auto s = seen_;
    f(s);
    if (publish(s)) return;
    if (tries == tries_max) leave();
  }
}

void machine_pace::bury(state& s) const noexcept {
  for (int i = 0; i < members_max; ++i) {
    auto& theirs = s.members[static_cast<std::size_t>(i)];
    if (i != me_ && theirs.here && !alive(i)) theirs = {};
  }
}

/// It waits, and has not looked for a while: a signal has stopped it.
bool machine_pace::absent(member const& m, time_point now) noexcept {
  return m.waits && later(m.looked, absent_after) <= now;
}

/// Permits that others have out. Who is absent cannot say that its answers have come.
int machine_pace::others_out(state const& s, time_point now) const noexcept {
  int sum = 0;
  for (auto const& each : s.members)
    if (&each != &mine(s) && !absent(each, now)) sum += each.out;
  return sum;
}

/// How long we let those go first who wait for longer: no longer in all than the law forgives.
duration machine_pace::deference(state const& s, time_point now) const noexcept {
  auto const first = std::ranges::count_if(s.members, [&](member const& m) {
    return m.here && m.waits && m.took < mine(s).took && later(m.looked, stopped_after) > now;
  });
  if (first == 0) return duration(0);
  auto next = s.law;
  auto const turn = std::max(now, next.ready_at(1));
  next.take(turn, 1, {});
  auto const half = std::max((next.ready_at(1) - turn) / 2, duration(0));
  return std::min(first * std::min(half, moment), std::max(half, moment));
}

void machine_pace::look(time_point now) noexcept {
  read(now);
  held_ = seen_.held <= later(now, patience_) ? seen_.held : time_point::min();
  others_ = others_out(seen_, now);
  deference_ = deference(seen_, now);
}

void machine_pace::refresh(time_point now, int out, bool waits) noexcept {
  read(now);
  if (absent(mine(seen_), now)) back_ = now;
  auto const looks = now >= later(mine(seen_).looked, members_looked_at);
  if (looks || mine(seen_).out != out || mine(seen_).waits != waits)
    act(now, [&](state& s) {
      if (looks) {
        bury(s);
        mine(s).looked = now;
      }
      mine(s).out = out;
      mine(s).waits = waits;
    });
  if (looks)
    company_ = std::max(company_,
                        static_cast<int>(std::ranges::count_if(seen_.members, &member::here)) - 1);
  look(now);
}

bool machine_pace::claim(time_point now, std::int64_t cost, fraction u) noexcept {
  for (int tries = 1;; ++tries) {
    look(now);
    auto const out = others_ + mine(seen_).out;
    if (held_ > now || ready_at(cost) > now || out >= seen_.law.allowed()) return false;
    if (map_ == nullptr) return true;  // nobody is faster
    auto const promised = seen_;
    auto s = seen_;
    claimed_ = s.law.take(now, cost, u);
    claimed_->in_flight = out + 1;
    ++mine(s).out;
    mine(s).took = now;
    if (publish(s)) {
      seen_ = promised;  // until take()
      seen_head_ = never_seen;
      return true;
    }
    claimed_.reset();
    if (tries == tries_max) leave();
  }
}

time_point machine_pace::look_again(time_point now) const noexcept {
  if (map_ == nullptr) return never;
  auto const permits = others_ > 0 && others_ + mine(seen_).out >= seen_.law.allowed();
  return later(now, permits ? permits_looked_at : members_looked_at);
}

stamp machine_pace::take(time_point now, std::int64_t cost, fraction u) noexcept {
  auto permit = std::exchange(claimed_, std::nullopt);
  if (!permit)
    act(now, [&](state& s) {
      permit = s.law.take(now, cost, u);
      permit->in_flight = others_out(s, now) + ++mine(s).out;
      mine(s).took = now;
    });
  look(now);
  return *permit;
}

/// Tells the law, unless we were stopped meanwhile: then nobody knows how long the answer took.
template <class F>
void machine_pace::learn(time_point now, sample s, F f) noexcept {
  if (absent(mine(seen_), now)) back_ = now;
  if (s.sent.sent < back_) return;
  act(now, [&](state& all) {
    auto whole = s;
    whole.in_flight += others_out(all, now);
    f(all.law, whole);
  });
}

void machine_pace::on_success(time_point now, sample const& s, fraction u) noexcept {
  learn(now, s, [&](any_law& l, sample const& of_all) { l.on_success(now, of_all, u); });
}

void machine_pace::on_throttle(time_point now, sample const& s, resource r, fraction u) noexcept {
  learn(now, s, [&](any_law& l, sample const& of_all) { l.on_throttle(now, of_all, r, u); });
}

void machine_pace::on_failure(time_point now, sample const& s, fraction u) noexcept {
  learn(now, s, [&](any_law& l, sample const& of_all) { l.on_failure(now, of_all, u); });
}

void machine_pace::hold(time_point until) noexcept {
  act(never, [&](state& all) { all.held = std::max(all.held, until); });
  held_ = std::max(held_, until);
  seen_head_ = map_ != nullptr ? never_seen : seen_head_;  // by our clock it was not seen
}

void machine_pace::on_hint(time_point now, hint const& h) noexcept {
  act(now, [&](state& all) {
    if (h.retry_after)
      all.held = std::max(all.held, later(now, std::max(*h.retry_after, duration(0))));
    all.law.on_hint(now, h);
  });
}

}  // namespace headway
