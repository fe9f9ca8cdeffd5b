/// A disk that tests look into, under both the journal's SQLite and `file`: it remembers what was
/// written, synced, created and unlinked in what order, makes calls fail, and says what a power cut
/// may leave.
#pragma once

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "os/file.hpp"

namespace headway::app {

using files = std::map<std::string, std::string>;  // content by path below a folder

inline files read_files(std::string const& folder) {
  files all;
  for (auto const& entry : std::filesystem::recursive_directory_iterator(folder)) {
    auto const name = entry.path().lexically_relative(folder).string();
    if (!entry.is_regular_file() || name.ends_with("-shm")) continue;  // it does not outlive a boot
    std::ifstream in(entry.path(), std::ios::binary);
    all[name] = {std::istreambuf_iterator<char>(in), {}};
  }
  return all;
}

inline void write_files(std::string const& folder, files const& all) {
  for (auto const& entry : std::filesystem::recursive_directory_iterator(folder))
    if (!entry.is_directory()) std::filesystem::remove(entry.path());
  for (auto const& [name, content] : all) {
    int const fd = ::open((folder + "/" + name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    write_all(fd, content);
    ::close(fd);
  }
}

enum class disk_call : std::uint8_t { open, write, truncate, sync, unlink };

/// One thing that happened to the disk, or a `note` of what the world was told at that moment.
struct disk_event {
  enum kind : std::uint8_t {
    create,
    unlink,
    write,
    truncate,
    sync,
    failed_sync,
    sync_folder,
    note
  };
  kind what;
  int inode = 0;        // or what a note means
  std::int64_t at = 0;  // offset or size, or what a note is about
  std::string text{};   // path or bytes
};

/// Watches the files below `folder`, which must be real and without links, while it lives; one at a
/// time. The files themselves are changed too.
class test_disk {
 public:
  explicit test_disk(std::string folder)
      : folder_(std::move(folder)), initial_(read_files(folder_)) {
    for (auto const& [name, content] : initial_) names_[name] = inodes_++;
    current() = this;
    disk() = {on_open, on_write, on_truncate, on_sync, on_sync_folder, on_unlink};
    auto& calls = vfs();
    sqlite3_vfs_register(&calls, 1);
    original_open_folder() = real()->xGetSystemCall(real(), "openDirectory");
    real()->xSetSystemCall(real(), "openDirectory",
                           reinterpret_cast<sqlite3_syscall_ptr>(on_open_folder));
  }
  test_disk(test_disk const&) = delete;
  test_disk& operator=(test_disk const&) = delete;
  ~test_disk() {
    real()->xSetSystemCall(real(), "openDirectory", nullptr);
    sqlite3_vfs_unregister(&vfs());
    sqlite3_vfs_register(real(), 1);
    disk() = calls_before_;
    current() = nullptr;
  }

  /// Told to the world, hence to be kept.
  void note(int what, std::int64_t about) {
    std::lock_guard const held(mutex_);
    log_.push_back({disk_event::note, what, about});
  }

  /// The `nth` call (from 1) of `kind` from now on fails with `error`, and those after it if
  /// `for_ever`; a `part` of a write is done first.
  void fail(disk_call kind, int nth, int error, bool for_ever, bool part = false) {
    std::lock_guard const held(mutex_);
    fault_ = {true, kind, nth, error, for_ever, part};
    hit_ = false;
  }
  /// Nothing changes the disk any more, as if the process had been killed before its `nth` change.
  void kill(int nth) {
    std::lock_guard const held(mutex_);
    killed_at_ = nth;
    hit_ = false;
  }
  void repair() {
    std::lock_guard const held(mutex_);
    fault_ = {};
    killed_at_ = 0;
    fds_.clear();
  }
  bool hit() const noexcept { return hit_; }

  /// Syncs of files whose path starts so do nothing: a bug planted.
  void ignore_syncs_of(std::string prefix) { ignored_ = std::move(prefix); }

  files const& initial() const noexcept { return initial_; }
  std::vector<disk_event> const& log() const noexcept { return log_; }

 private:
  struct fault {
    bool armed = false;
    disk_call kind{};
    int nth = 0, error = 0;
    bool for_ever = false, part = false;
  };
  struct watched {  // what SQLite has instead of a file; its own follows in memory
    sqlite3_file base;
    int inode;  // -1: not below the folder
  };
  static_assert(sizeof(watched) % 8 == 0);

  static test_disk*& current() {
    static test_disk* it = nullptr;
    return it;
  }
  static sqlite3_vfs* real() {
    static sqlite3_vfs* const it = sqlite3_vfs_find("unix");
    return it;
  }
  static sqlite3_syscall_ptr& original_open_folder() {
    static sqlite3_syscall_ptr it = nullptr;
    return it;
  }

  std::string below(char const* path) const {
    std::string_view const whole(path);
    return whole.starts_with(folder_ + "/") ? std::string(whole.substr(folder_.size() + 1)) : "";
  }

  /// The errno with which this call is to fail, or 0.
  int failing(disk_call kind) {
    if (killed_at_ == 1) {
      hit_ = true;
      return EIO;
    }
    if (killed_at_ > 1) --killed_at_;
    if (!fault_.armed || fault_.kind != kind) return 0;
    if (--fault_.nth > 0) return 0;
    if (fault_.nth < 0 && !fault_.for_ever) return 0;
    hit_ = true;
    return fault_.error;
  }

  void add(disk_event::kind what, int inode, std::int64_t at = 0, std::string_view text = {}) {
    log_.push_back({what, inode, at, std::string(text)});
  }
  int inode_of(std::string const& name) {
    if (auto const known = names_.find(name); known != names_.end()) return known->second;
    add(disk_event::create, inodes_, 0, name);
    return names_[name] = inodes_++;
  }
  void synced(int inode) { add(disk_event::sync, inode); }
  bool ignores(int inode) const {
    return std::any_of(names_.begin(), names_.end(), [&](auto const& n) {
      return n.second == inode && !ignored_.empty() && n.first.starts_with(ignored_);
    });
  }
  void folder_synced(std::string const& path) {
    add(disk_event::sync_folder, 0, 0, path == folder_ ? "" : below(path.c_str()));
  }

  // ── under `file` ──

  static int on_open(char const* path, int flags, mode_t mode) {
    auto& d = *current();
    std::lock_guard const held(d.mutex_);
    auto const name = d.below(path);
    bool const folder = (flags & O_DIRECTORY) != 0;
    if (name.empty() && !folder) return ::open(path, flags, mode);
    if (int const error = d.failing(disk_call::open); error != 0) return errno = error, -1;
    int const fd = ::open(path, flags, mode);
    if (fd < 0) return fd;
    if (folder)
      d.folders_[fd] = path;
    else
      d.fds_[fd] = d.inode_of(name);
    return fd;
  }
  static ssize_t on_write(int fd, void const* bytes, std::size_t size) {
    auto& d = *current();
    std::lock_guard const held(d.mutex_);
    auto const known = d.fds_.find(fd);
    if (known == d.fds_.end()) return ::write(fd, bytes, size);
    if (int const error = d.failing(disk_call::write); error != 0) {
      if (!d.fault_.part || size < 2) return errno = error, -1;
      d.fault_.nth = 1;  // the next one fails, too
      d.fault_.part = false;
      size /= 2;
    }
    auto const appends = (::fcntl(fd, F_GETFL) & O_APPEND) != 0;
    auto const at = ::lseek(fd, 0, appends ? SEEK_END : SEEK_CUR);
    auto const n = ::write(fd, bytes, size);
    if (n > 0)
      d.add(disk_event::write, known->second, at,
            {static_cast<char const*>(bytes), static_cast<std::size_t>(n)});
    return n;
  }
  static int on_truncate(int fd, off_t size) {
    auto& d = *current();
    std::lock_guard const held(d.mutex_);
    auto const known = d.fds_.find(fd);
    if (known == d.fds_.end()) return ::ftruncate(fd, size);
    if (int const error = d.failing(disk_call::truncate); error != 0) return errno = error, -1;
    d.add(disk_event::truncate, known->second, size);
    return ::ftruncate(fd, size);
  }
  static int on_sync(int fd) {
    auto& d = *current();
    std::lock_guard const held(d.mutex_);
    auto const known = d.fds_.find(fd);
    if (known == d.fds_.end()) return ::fdatasync(fd);
    if (int const error = d.failing(disk_call::sync); error != 0) {
      if (d.killed_at_ != 1) d.add(disk_event::failed_sync, known->second);
      return errno = error, -1;
    }
    if (!d.ignores(known->second)) d.synced(known->second);
    return 0;
  }
  static int on_sync_folder(int fd) {
    auto& d = *current();
    std::lock_guard const held(d.mutex_);
    auto const known = d.folders_.find(fd);
    if (known == d.folders_.end()) return ::fsync(fd);
    if (int const error = d.failing(disk_call::sync); error != 0) return errno = error, -1;
    if (auto const name = d.below(known->second.c_str()) + "/.";
        d.ignored_.empty() || !name.starts_with(d.ignored_))
      d.folder_synced(known->second);
    return 0;
  }
  static int on_unlink(char const* path) {
    auto& d = *current();
    std::lock_guard const held(d.mutex_);
    auto const name = d.below(path);
    if (name.empty()) return ::unlink(path);
    if (int const error = d.failing(disk_call::unlink); error != 0) return errno = error, -1;
    if (d.names_.erase(name) > 0) d.add(disk_event::unlink, 0, 0, name);
    return ::unlink(path);
  }

  // ── under SQLite ──

  // Called where SQLite syncs the folder of a file that it has created.
  static int on_open_folder(char const* path, int* fd) {
    if (auto* const d = current()) {
      std::lock_guard const held(d->mutex_);
      auto const folder = std::filesystem::path(path).parent_path().string();
      if (d->killed_at_ != 1 && (folder == d->folder_ || !d->below(folder.c_str()).empty()))
        if (d->ignored_.empty() || !d->below(path).starts_with(d->ignored_))
          d->folder_synced(folder);
    }
    return reinterpret_cast<int (*)(char const*, int*)>(original_open_folder())(path, fd);
  }

  static watched* ours(sqlite3_file* f) { return reinterpret_cast<watched*>(f); }
  static sqlite3_file* theirs(sqlite3_file* f) {
    return reinterpret_cast<sqlite3_file*>(ours(f) + 1);
  }

  static int sqlite_open(sqlite3_vfs*, char const* path, sqlite3_file* f, int flags, int* out) {
    auto& d = *current();
    std::lock_guard const held(d.mutex_);
    f->pMethods = nullptr;
    auto const name = path ? d.below(path) : "";
    if (!name.empty() && d.failing(disk_call::open) != 0) return SQLITE_CANTOPEN;
    int const code = real()->xOpen(real(), path, theirs(f), flags, out);
    ours(f)->inode = code == SQLITE_OK && !name.empty() ? d.inode_of(name) : -1;
    if (theirs(f)->pMethods) f->pMethods = &methods();
    return code;
  }
  static int sqlite_delete(sqlite3_vfs*, char const* path, int sync_folder) {
    auto& d = *current();
    std::lock_guard const held(d.mutex_);
    auto const name = d.below(path);
    if (d.failing(disk_call::unlink) != 0) return SQLITE_IOERR_DELETE;
    if (d.names_.erase(name) > 0) d.add(disk_event::unlink, 0, 0, name);
    if (sync_folder != 0) d.folder_synced(std::filesystem::path(path).parent_path().string());
    return real()->xDelete(real(), path, 0);
  }
  static int sqlite_write(sqlite3_file* f, void const* bytes, int size, sqlite3_int64 at) {
    auto& d = *current();
    std::lock_guard const held(d.mutex_);
    int error = 0;
    if (ours(f)->inode >= 0 && (error = d.failing(disk_call::write)) != 0) {
      if (!d.fault_.part || size < 2) return error == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
      size /= 2;
    }
    int const code = theirs(f)->pMethods->xWrite(theirs(f), bytes, size, at);
    if (code == SQLITE_OK && ours(f)->inode >= 0)
      d.add(disk_event::write, ours(f)->inode, at,
            {static_cast<char const*>(bytes), static_cast<std::size_t>(size)});
    return error != 0 ? SQLITE_FULL : code;
  }
  static int sqlite_truncate(sqlite3_file* f, sqlite3_int64 size) {
    auto& d = *current();
    std::lock_guard const held(d.mutex_);
    if (ours(f)->inode >= 0) {
      if (d.failing(disk_call::truncate) != 0) return SQLITE_IOERR_TRUNCATE;
      d.add(disk_event::truncate, ours(f)->inode, size);
    }
    return theirs(f)->pMethods->xTruncate(theirs(f), size);
  }
  static int sqlite_sync(sqlite3_file* f, int flags) {
    auto& d = *current();
    std::unique_lock held(d.mutex_);
    if (int const inode = ours(f)->inode; inode >= 0) {
      if (d.failing(disk_call::sync) != 0) {
        if (d.killed_at_ != 1) d.add(disk_event::failed_sync, inode);
        return SQLITE_IOERR_FSYNC;
      }
      if (!d.ignores(inode)) d.synced(inode);
    }
    held.unlock();  // on_open_folder() follows
    return theirs(f)->pMethods->xSync(theirs(f), flags);
  }

  static sqlite3_io_methods const& methods() {
    static sqlite3_io_methods const it = [] {
      sqlite3_io_methods m{};
      m.iVersion = 2;
      m.xClose = [](sqlite3_file* f) { return theirs(f)->pMethods->xClose(theirs(f)); };
      m.xRead = [](sqlite3_file* f, void* to, int size, sqlite3_int64 at) {
        return theirs(f)->pMethods->xRead(theirs(f), to, size, at);
      };
      m.xWrite = sqlite_write;
      m.xTruncate = sqlite_truncate;
      m.xSync = sqlite_sync;
      m.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) {
        return theirs(f)->pMethods->xFileSize(theirs(f), size);
      };
      m.xLock = [](sqlite3_file* f, int how) { return theirs(f)->pMethods->xLock(theirs(f), how); };
      m.xUnlock = [](sqlite3_file* f, int how) {
        return theirs(f)->pMethods->xUnlock(theirs(f), how);
      };
      m.xCheckReservedLock = [](sqlite3_file* f, int* out) {
        return theirs(f)->pMethods->xCheckReservedLock(theirs(f), out);
      };
      m.xFileControl = [](sqlite3_file* f, int what, void* with) {
        return theirs(f)->pMethods->xFileControl(theirs(f), what, with);
      };
      m.xSectorSize = [](sqlite3_file* f) { return theirs(f)->pMethods->xSectorSize(theirs(f)); };
      m.xDeviceCharacteristics = [](sqlite3_file* f) {
        return theirs(f)->pMethods->xDeviceCharacteristics(theirs(f));
      };
      m.xShmMap = [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
        return theirs(f)->pMethods->xShmMap(theirs(f), page, size, extend, out);
      };
      m.xShmLock = [](sqlite3_file* f, int offset, int n, int flags) {
        return theirs(f)->pMethods->xShmLock(theirs(f), offset, n, flags);
      };
      m.xShmBarrier = [](sqlite3_file* f) { theirs(f)->pMethods->xShmBarrier(theirs(f)); };
      m.xShmUnmap = [](sqlite3_file* f, int erase) {
        return theirs(f)->pMethods->xShmUnmap(theirs(f), erase);
      };
      return m;
    }();
    return it;
  }

  static sqlite3_vfs& vfs() {
    static sqlite3_vfs it = [] {
      auto v = *real();  // everything but files is the real one's
      v.pNext = nullptr;
      v.zName = "test_disk";
      v.szOsFile += static_cast<int>(sizeof(watched));
      v.xOpen = sqlite_open;
      v.xDelete = sqlite_delete;
      return v;
    }();
    return it;
  }

  std::string const folder_;
  files const initial_;
  disk_calls const calls_before_ = disk();
  std::mutex mutex_;
  std::vector<disk_event> log_;
  std::map<std::string, int> names_;
  std::map<int, int> fds_;
  std::map<int, std::string> folders_;
  int inodes_ = 0;
  fault fault_;
  int killed_at_ = 0;
  bool hit_ = false;
  std::string ignored_;
};

/// What a power cut may leave, at any moment of a test_disk's log.
///
/// Synced is kept. Of every write that is not, each 512-byte sector is kept, dropped or torn by
/// itself, in any order; what was between sectors that are kept, and the end of the file, may be
/// zeros, garbage or missing. Names that were made or removed are so only once their folder was
/// synced. After a failed sync, what it was about may be lost whatever is synced later.
class power_cut {
 public:
  /// In the file `whole`, a sector is old, new or zeros, as SQLite assumes of its database.
  power_cut(files const& initial, std::string whole) : whole_(std::move(whole)) {
    for (auto const& [name, content] : initial) {
      names_[name].push_back(static_cast<int>(inodes_.size()));
      inodes_.push_back({content, {}});
    }
  }

  /// The next of the log, which must stay where it is.
  void happen(disk_event const& e) {
    switch (e.what) {
      case disk_event::create:
        inodes_.emplace_back();
        [[fallthrough]];
      case disk_event::unlink: {
        auto& states = names_[e.text];
        if (states.empty()) states.push_back(-1);
        states.push_back(e.what == disk_event::create ? e.inode : -1);
        break;
      }
      case disk_event::write:
      case disk_event::truncate:
        inode(e).unsynced.push_back({&e, false, false});
        break;
      case disk_event::failed_sync:
        for (auto& o : inode(e).unsynced) o.doomed = !o.certain;
        break;
      case disk_event::sync: {
        auto& [stable, unsynced] = inode(e);
        for (auto& o : unsynced) o.certain = !o.doomed;
        auto const end = std::find_if(unsynced.begin(), unsynced.end(),
                                      [](auto const& o) { return !o.certain; });
        for (auto o = unsynced.begin(); o != end; ++o) apply(stable, *o->e);
        unsynced.erase(unsynced.begin(), end);
        break;
      }
      case disk_event::sync_folder:
        for (auto& [name, states] : names_)
          if (std::filesystem::path(name).parent_path() == e.text)
            states.erase(states.begin(), states.end() - 1);
        break;
      case disk_event::note:
        break;
    }
  }

  /// What is found if the power goes now.
  template <class Random>
  files leave(Random& random) const {
    auto const dice = [&](int sides) {
      return static_cast<int>(random() % static_cast<unsigned>(sides));
    };
    // All is kept, all is lost, or each piece has its chance.
    int const percent = std::array{0, 100, 50, 10, 90, 50}[static_cast<std::size_t>(dice(6))];
    auto const kept = [&] { return dice(100) < percent; };
    files left;
    for (auto const& [name, states] : names_) {
      std::size_t state = 0;
      if (dice(2) == 0)
        state = kept() ? states.size() - 1 : 0;
      else
        state = static_cast<std::size_t>(dice(static_cast<int>(states.size())));
      if (states[state] < 0) continue;
      auto const& [stable, unsynced] = inodes_[static_cast<std::size_t>(states[state])];
      auto content = stable;
      bool const grows = dice(2) == 0;
      bool const garbage = dice(4) == 0 && name != whole_;
      for (auto const& o : unsynced) {
        if (o.certain) {
          apply(content, *o.e);
        } else if (o.e->what == disk_event::truncate) {
          if (kept()) apply(content, *o.e);
        } else {
          for (std::size_t from = 0; from < o.e->text.size();) {
            auto const at = static_cast<std::size_t>(o.e->at) + from;
            auto size = std::min(o.e->text.size() - from, sector - at % sector);
            auto const next = from + size;
            bool const keep = kept();
            if (keep && percent < 100 && dice(16) == 0 && name != whole_)
              size = static_cast<std::size_t>(dice(static_cast<int>(size) + 1));  // torn
            auto const before = content.size();
            if ((keep || grows) && at + size > before) {
              content.resize(at + size);
              if (garbage)
                for (auto i = before; i < at + size; ++i)
                  content[i] = static_cast<char>(random() & 0xff);
            }
            if (keep) std::memcpy(content.data() + at, o.e->text.data() + from, size);
            from = next;
          }
        }
      }
      left[name] = std::move(content);
    }
    return left;
  }

 private:
  static constexpr std::size_t sector = 512;
  struct operation {
    disk_event const* e;
    bool certain;  // synced, after one that is doomed
    bool doomed;   // its sync failed
  };
  struct node {
    std::string stable;
    std::vector<operation> unsynced;
  };

  node& inode(disk_event const& e) { return inodes_[static_cast<std::size_t>(e.inode)]; }

  static void apply(std::string& content, disk_event const& e) {
    auto const at = static_cast<std::size_t>(e.at);
    if (e.what == disk_event::truncate) return content.resize(at);
    if (content.size() < at + e.text.size()) content.resize(at + e.text.size());
    std::memcpy(content.data() + at, e.text.data(), e.text.size());
  }

  std::string const whole_;
  std::vector<node> inodes_;
  std::map<std::string, std::vector<int>> names_;  // synced, then what became of it; -1: none
};

}  // namespace headway::app
