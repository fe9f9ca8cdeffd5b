#include "journal/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "base/fatal.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"

namespace headway::app {
namespace {

constexpr std::int64_t application_id = 0x68647779;  // "hdwy", in the header of the file
constexpr std::int64_t schema_version = 3;

// input: digests of consecutive lines, from line `first` on. line: see seal_of(). run: one row; a
// run that has started is `open` until it ends well. note: what runs tell later ones.
constexpr char schema[] =
    "CREATE TABLE input(first INTEGER PRIMARY KEY, digests BLOB NOT NULL) STRICT;"
    "CREATE TABLE line(number INTEGER PRIMARY KEY, state INTEGER NOT NULL,"
    " seal INTEGER NOT NULL) STRICT;"
    "CREATE TABLE note(key TEXT PRIMARY KEY, value TEXT NOT NULL, seal INTEGER NOT NULL)"
    " STRICT, WITHOUT ROWID;"
    "CREATE TABLE run(created TEXT NOT NULL, jobs TEXT NOT NULL, results TEXT NOT NULL,"
    " results_size INTEGER NOT NULL, commits INTEGER NOT NULL, open INTEGER NOT NULL) STRICT;";

constexpr std::size_t lines_per_chunk = 4096;

template <class Digest>
Digest digest_of(std::string_view line) {
  auto const whole = sha256(line);
  Digest kept;
  std::copy_n(whole.begin(), kept.size(), kept.begin());
  return kept;
}

std::uint32_t big_endian(unsigned char const* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

// SQLite finds a page that is no page any more, but not another number in it.
std::int64_t seal_of(std::int64_t line, std::int64_t state) {
  auto const mixed = static_cast<std::uint64_t>(line * 8 + state) * 0x9e3779b97f4a7c15;
  return static_cast<std::int64_t>(mixed >> 49);  // 15 bits: two bytes in the file
}

std::int64_t seal_of(note const& n) {
  using digest = std::array<unsigned char, 8>;
  return big_endian(digest_of<digest>(fmt::format("{}\n{}", n.key, n.value)).data());
}

constexpr char shape_key[] = "shape";

/// What a journal keeps of a shape, which may have secrets in its URL.
std::string kept_of(std::string_view shape) {
  if (shape.empty()) return {};
  auto const d = digest_of<std::array<unsigned char, 8>>(shape);
  return fmt::format("{:02x}", fmt::join(d, ""));
}

std::string_view text(sqlite3_stmt* s, int column) {
  auto const* const bytes = static_cast<char const*>(sqlite3_column_blob(s, column));
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(s, column))};
}

void bind_text(sqlite3_stmt* s, int parameter, std::string_view value) {
  sqlite3_bind_text(s, parameter, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
}

}  // namespace

void journal::closer::operator()(sqlite3* db) const noexcept {
  sqlite3_close(db);
}
void journal::finalize::operator()(sqlite3_stmt* s) const noexcept {
  sqlite3_finalize(s);
}
journal::leftover::~leftover() {
  if (!path.empty()) disk().unlink(path.c_str());
}

journal::journal(std::string path, std::string jobs, durability level, std::string shape,
                 std::vector<final_outcome> again, std::string shaped_by)
    : path_(std::move(path)),
      jobs_(std::move(jobs)),
      level_(level),
      shape_(std::move(shape)),
      shaped_by_(std::move(shaped_by)),
      again_(std::move(again)),
      lock_(file::open(path_, O_RDWR | O_CREAT | O_NOFOLLOW)),
      mark_(path_) {
  require_private();
  lock_.lock();
  require_ours();
  open_database();
  load();
}

void journal::require_private() const {
  struct stat status {};
  ::fstat(lock_.fd(), &status);
  if (!S_ISREG(status.st_mode))
    throw fatal(exit_usage,
                fmt::format("{} is not a regular file; choose another --journal", path_));
  if (status.st_uid != ::geteuid())
    throw fatal(exit_usage,
                fmt::format("{} belongs to another user; choose another --journal", path_));

  auto const folder = std::filesystem::absolute(path_).parent_path();
  if (::stat(folder.c_str(), &status) == 0 && (status.st_mode & S_IWOTH) != 0 &&
      (status.st_mode & S_ISVTX) == 0)
    throw fatal(
        exit_usage,
        fmt::format("anyone may replace files in {}; choose another --journal, or chmod o-w {}",
                    folder.string(), folder.string()));

  struct statfs system {};
  constexpr long nfs = 0x6969;
  if (::fstatfs(lock_.fd(), &system) == 0 && system.f_type == nfs)
    throw fatal(
        exit_usage,
        fmt::format(
            "{} is on NFS, whose locks cannot be relied on; choose a --journal on a local disk",
            path_));
}

// Looks at the header itself, so that SQLite never opens, recovers or changes a file of another
// program.
void journal::require_ours() const {
  std::array<unsigned char, 100> header{};
  auto const n = ::pread(lock_.fd(), header.data(), header.size(), 0);
  if (n == 0) {
    if (auto const commits = mark_.read().value_or(0); commits > 0)
      refuse(
          fmt::format("is gone, of which {} knows {} commits; put it back", mark_.path(), commits));
    return;
  }
  // The power went while the file was being made: it has its length, but nothing in it yet. SQLite
  // rolls that back, and refuses any other file of zeros.
  if (n == static_cast<ssize_t>(header.size()) &&
      std::ranges::all_of(header, [](unsigned char byte) { return byte == 0; }))
    return;
  if (n != static_cast<ssize_t>(header.size()) ||
      std::memcmp(header.data(), "SQLite format 3", 16) != 0 ||
      big_endian(&header[68]) != application_id)
    throw fatal(exit_usage,
                fmt::format("{} is not a headway journal; choose another --journal", path_));
  if (auto const version = big_endian(&header[60]); version != schema_version)
    throw fatal(exit_usage, fmt::format("{} was written by another version of headway (schema {}, "
                                        "this one knows {}); choose another --journal",
                                        path_, version, schema_version));
}

void journal::open_database() {
  sqlite3* opened = nullptr;
  int const code =
      sqlite3_open_v2(path_.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  db_.reset(opened);
  if (code != SQLITE_OK) fail();
  struct stat ours {};
  struct stat theirs {};
  ::fstat(lock_.fd(), &ours);
  if (::lstat(path_.c_str(), &theirs) != 0 || ours.st_ino != theirs.st_ino ||
      ours.st_dev != theirs.st_dev)
    throw fatal(exit_parked, fmt::format("another run has just replaced {}", path_));

  sqlite3_busy_timeout(db_.get(), 10'000);  // readers may look on
  sqlite3_db_config(db_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  execute("PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON");
  // Not asked of require_ours(): a creation that was cut short is rolled back by opening it. Set
  // before there is a write-ahead log, so that they are in the file itself.
  auto id = prepare("PRAGMA application_id");
  bool const blank = step(id) && sqlite3_column_int64(id.get(), 0) == 0;
  id.reset();
  if (blank)
    execute(fmt::format("BEGIN; PRAGMA application_id={}; PRAGMA user_version={}; COMMIT",
                        application_id, schema_version)
                .c_str());
  execute("PRAGMA journal_mode=WAL; PRAGMA journal_size_limit=67108864");
  execute(level_ == durability::power ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
}

void journal::load() {
  execute("BEGIN IMMEDIATE");
  auto const tables = prepare("SELECT sql || ';' FROM sqlite_schema ORDER BY name");
  std::string found;
  while (step(tables)) found += text(tables.get(), 0);
  if (found.empty()) {  // also after a crash between the header and start()
    new_ = true;
    leftover_.path = path_;
    execute(schema);
  } else {
    if (found != schema) damaged("its tables are not the ones headway makes");
    auto const sound = prepare("PRAGMA quick_check(1)");
    if (step(sound) && text(sound.get(), 0) != "ok") damaged("its pages do not agree");

    auto const run = prepare("SELECT results, results_size, commits, open FROM run");
    if (!step(run)) damaged("it does not say which run it is of");
    results_ = text(run.get(), 0);
    results_size_ = sqlite3_column_int64(run.get(), 1);
    commits_ = sqlite3_column_int64(run.get(), 2);
    open_ = sqlite3_column_int64(run.get(), 3) != 0;
    if (open_) require_all();

    auto const input = prepare("SELECT ifnull(sum(length(digests)), 0) FROM input");
    step(input);
    known_ = sqlite3_column_int64(input.get(), 0) / static_cast<std::int64_t>(sizeof(digest));
    done_.resize(static_cast<std::size_t>(known_) + 1);

    auto const lines = prepare("SELECT number, state, seal FROM line ORDER BY number");
    while (step(lines)) {
      auto const line = sqlite3_column_int64(lines.get(), 0);
      auto const state = sqlite3_column_int64(lines.get(), 1);
      if (line < 1 || line > known_ || state < 1 || state > 4 ||
          sqlite3_column_int64(lines.get(), 2) != seal_of(line, state))
        damaged("it knows of lines that cannot be");
      if (state == static_cast<std::int64_t>(line_state::intended)) {
        intents_.push_back(line);
      } else {
        done_[static_cast<std::size_t>(line)] = true;
        ++counts_[static_cast<std::size_t>(state)];
        if (std::ranges::find(again_, static_cast<final_outcome>(state)) == again_.end()) continue;
        correctable_.resize(static_cast<std::size_t>(line) + 1);
        correctable_.back() = true;
      }
    }
    load_notes();
    require_shape();
  }
  begin_ = prepare("BEGIN IMMEDIATE");
  commit_ = prepare("COMMIT");
  settle_ = prepare(
      "INSERT INTO line VALUES(?1, ?2, ?3) ON CONFLICT(number)"
      " DO UPDATE SET state = excluded.state, seal = excluded.seal WHERE state = 4");
  reopen_ = prepare("DELETE FROM line WHERE number = ?1 AND state = 4");
  grow_ = prepare("UPDATE run SET results_size = ?1, commits = ?2");
  note_ = prepare("INSERT OR REPLACE INTO note VALUES(?1, ?2, ?3)");
  if (new_ || reshaped_) put({shape_key, kept_of(shape_)});
}

void journal::load_notes() {
  auto const s = prepare("SELECT key, value, seal FROM note");
  while (step(s)) {
    note const n{std::string(text(s.get(), 0)), std::string(text(s.get(), 1))};
    if (sqlite3_column_int64(s.get(), 2) != seal_of(n)) damaged("its notes are not what they were");
    notes_[n.key] = n.value;
  }
  if (!notes_.contains(shape_key)) damaged("it lacks a note");
}

void journal::require_shape() {
  if (noted(shape_key) == kept_of(shape_)) return;
  std::int64_t others = 0;
  for (auto const how : {final_outcome::success, final_outcome::failed, final_outcome::unknown})
    if (std::ranges::find(again_, how) == again_.end()) others += count(how);
  reshaped_ = !again_.empty() && others == 0 && intents_.empty();
  if (!reshaped_)
    throw fatal(exit_usage,
                fmt::format("{}: {} changed since {} was written; "
                            "undo that, or start afresh with another --journal and --out",
                            jobs_, shaped_by_, path_));
}

std::string journal::noted(std::string const& key) const {
  auto const found = notes_.find(key);
  return found == notes_.end() ? "" : found->second;
}

void journal::put(note const& n) {
  notes_[n.key] = n.value;
  std::lock_guard const held(mutex_);
  to_note_[n.key] = n.value;
}

bool journal::behind() {
  std::lock_guard const held(mutex_);
  return !fresh_.empty() || !edits_.empty() || !to_note_.empty();
}

void journal::store_note(note const& n) {
  bind_text(note_.get(), 1, n.key);
  bind_text(note_.get(), 2, n.value);
  sqlite3_bind_int64(note_.get(), 3, seal_of(n));
  run(note_);
}

bool journal::correctable(std::int64_t line) const noexcept {
  auto const i = static_cast<std::size_t>(line);
  return i < correctable_.size() && correctable_[i];
}

void journal::require_all() const {
  auto const acknowledged = mark_.read();
  if (!acknowledged)
    refuse(
        fmt::format("was not closed by the run before, and {}, which says how far that had got, is "
                    "missing or cut; put it back",
                    mark_.path()));
  if (*acknowledged > commits_)
    refuse(
        fmt::format("has lost what it had acknowledged ({} of {} commits are left): {}-wal was "
                    "removed or damaged; put it back",
                    commits_, *acknowledged, path_));
}

bool journal::done(std::int64_t line) const noexcept {
  auto const i = static_cast<std::size_t>(line);
  return i < done_.size() && done_[i];
}

outcome_counts journal::ended(std::int64_t last) const {
  auto const s = prepare("SELECT state, count(*) FROM line WHERE number <= ?1 GROUP BY state");
  sqlite3_bind_int64(s.get(), 1, last);
  std::array<std::int64_t, 5> counts{};
  while (step(s))
    counts[static_cast<std::size_t>(sqlite3_column_int64(s.get(), 0))] =
        sqlite3_column_int64(s.get(), 1);
  return {counts[1], counts[2], counts[3]};
}

std::int64_t journal::reopen(final_outcome how, std::int64_t last) {
  auto const s =
      prepare("DELETE FROM line WHERE state = ?1 AND number BETWEEN ?2 AND ?3 RETURNING number");
  std::int64_t reopened = 0;
  auto const open = [&](std::int64_t from, std::int64_t to) {
    sqlite3_bind_int64(s.get(), 1, static_cast<std::int64_t>(how));
    sqlite3_bind_int64(s.get(), 2, from);
    sqlite3_bind_int64(s.get(), 3, to);
    for (; step(s); ++reopened)
      done_[static_cast<std::size_t>(sqlite3_column_int64(s.get(), 0))] = false;
    sqlite3_reset(s.get());
  };
  open(1, reshaped_ ? known_ : last);
  for (auto const line : corrected_) open(std::max(line, last + 1), line);
  counts_[static_cast<std::size_t>(how)] -= reopened;
  return reopened;
}

std::vector<bool> journal::lost() {
  std::lock_guard const held(mutex_);
  auto const s = prepare("SELECT number FROM line WHERE state IN (2, 3) ORDER BY number DESC");
  std::vector<bool> found;
  while (step(s)) {
    auto const line = static_cast<std::size_t>(sqlite3_column_int64(s.get(), 0));
    if (line >= found.size()) found.resize(line + 1);
    found[line] = true;
  }
  return found;
}

void journal::check(std::string_view line, std::int64_t begins) {
  ++line_;
  auto const now = digest_of<digest>(line);
  if (line_ <= known_) {
    auto const end = chunk_first_ + static_cast<std::int64_t>(chunk_.size());
    if (line_ >= end) load_chunk(line_);
    if (chunk_[static_cast<std::size_t>(line_ - chunk_first_)] == now) return;
    // What began at another line of its record would lose its place.
    auto const first = begins > 0 ? begins : line_;
    if (!correctable(first) || (first != line_ && (done(line_) || correctable(line_))))
      throw fatal(exit_usage,
                  fmt::format("{}:{}: this line was edited since {} was written; undo that, or "
                              "start afresh with another --journal and --out (only what failed "
                              "may be corrected, with --again failed)",
                              jobs_, line_, path_));
    if (corrected_.empty() || corrected_.back() != first) corrected_.push_back(first);
    std::lock_guard const held(mutex_);
    edits_.push_back({line_, now});
    return;
  }
  std::lock_guard const held(mutex_);
  fresh_.push_back(now);
  if (!started_ && fresh_.size() == lines_per_chunk) store_fresh();
}

void journal::end_of_input() {
  if (line_ < known_)
    throw fatal(exit_usage,
                fmt::format("{}: ends after line {}, but {} knows {} lines of it; restore it, "
                            "or start afresh with another --journal and --out",
                            jobs_, line_, path_, known_));
}

void journal::load_chunk(std::int64_t line) {
  std::lock_guard const held(mutex_);
  auto const s = prepare("SELECT digests FROM input WHERE first = ?1");
  sqlite3_bind_int64(s.get(), 1, line);
  if (!step(s)) damaged("lines are missing in it");
  auto const bytes = text(s.get(), 0);
  chunk_.resize(bytes.size() / sizeof(digest));
  if (chunk_.empty()) damaged("lines are missing in it");
  std::memcpy(chunk_.data(), bytes.data(), chunk_.size() * sizeof(digest));
  chunk_first_ = line;
}

// Inside a transaction.
void journal::store_fresh() {
  if (fresh_.empty()) return;
  auto const s = prepare("INSERT INTO input VALUES(?1, ?2)");
  sqlite3_bind_int64(s.get(), 1, known_ + stored_ + 1);
  sqlite3_bind_blob64(s.get(), 2, fresh_.data(), fresh_.size() * sizeof(digest), SQLITE_STATIC);
  run(s);
  stored_ += static_cast<std::int64_t>(fresh_.size());
  fresh_.clear();
}

// Inside a transaction.
void journal::store_corrected() {
  auto const find =
      prepare("SELECT first, digests FROM input WHERE first <= ?1 ORDER BY first DESC LIMIT 1");
  auto const change = prepare("UPDATE input SET digests = ?2 WHERE first = ?1");
  for (std::size_t i = 0; i < edits_.size();) {
    sqlite3_bind_int64(find.get(), 1, edits_[i].line);
    if (!step(find)) damaged("lines are missing in it");
    auto const first = sqlite3_column_int64(find.get(), 0);
    auto digests = std::string(text(find.get(), 1));
    sqlite3_reset(find.get());
    for (; i < edits_.size(); ++i) {
      auto const at = static_cast<std::size_t>(edits_[i].line - first) * sizeof(digest);
      if (at >= digests.size()) break;
      std::memcpy(digests.data() + at, edits_[i].now.data(), sizeof(digest));
    }
    sqlite3_bind_int64(change.get(), 1, first);
    sqlite3_bind_blob64(change.get(), 2, digests.data(), digests.size(), SQLITE_STATIC);
    run(change);
  }
  edits_.clear();
}

// Relative to the journal's folder: neither the current directory nor moving both matters. A stream
// has no name.
std::string journal::name_of(file const& results) const {
  using std::filesystem::weakly_canonical;
  if (!results.regular()) return "";
  auto const folder = weakly_canonical(std::filesystem::absolute(path_)).parent_path();
  return weakly_canonical(std::filesystem::absolute(results.path()))
      .lexically_relative(folder)
      .string();
}

void journal::start(file& results) {
  auto const name = name_of(results);
  if (results.regular()) results.lock();
  if (new_) {
    if (results.size() != 0)
      throw fatal(exit_usage,
                  fmt::format("{} is not empty and {} knows nothing of it; move it away, "
                              "or choose another --out",
                              results.path(), path_));
    auto const s = prepare("INSERT INTO run VALUES(datetime('now'), ?1, ?2, 0, 1, 1)");
    bind_text(s.get(), 1, jobs_);
    bind_text(s.get(), 2, name);
    run(s);
    if (results.regular() && level_ == durability::power) results.sync_name();
  } else {
    if (name != results_)
      throw fatal(exit_usage,
                  fmt::format("{} goes with the results in {}, not in {}; give the same --out, "
                              "or another --journal",
                              path_, results_.empty() ? "a stream" : results_, results.path()));
    if (results.regular()) {
      auto const size = results.size();
      if (size < results_size_)
        throw fatal(
            exit_usage,
            fmt::format("{} {}, but {} bytes of it are on record in {}: restore it, or start "
                        "afresh with another --journal and --out",
                        results.path(),
                        size == 0 ? std::string("was removed or emptied")
                                  : fmt::format("was cut to {} bytes", size),
                        results_size_, path_));
      if (size > results_size_ && !open_)
        throw fatal(
            exit_usage,
            fmt::format("{} has {} bytes, but only {} of them are on record in {}: something "
                        "else wrote to it; cut it to those, or start afresh with another "
                        "--journal and --out",
                        results.path(), size, results_size_, path_));
      if (size > results_size_) results.truncate(results_size_);  // what was not acknowledged
      if (level_ == durability::power) {
        results.sync();
        results.sync_name();  // the last run may have promised less
      }
    }
    // It changes something: else it would sync nothing, neither what a killed run has left.
    execute("UPDATE run SET commits = commits + 1, open = 1");
  }
  // Before the journal asks for it; that of a killed run holds until all it left is durable.
  if (!open_) mark_.write(0, level_);
  std::lock_guard const held(mutex_);
  store_fresh();
  if (!edits_.empty()) store_corrected();
  for (auto const& [key, value] : std::exchange(to_note_, {})) store_note({key, value});
  run(commit_);
  leftover_.path.clear();
  // So that the database itself says, without its log, that a run has started.
  execute("PRAGMA wal_checkpoint(PASSIVE)");
  mark_.write(++commits_, level_);
  started_ = true;
}

void journal::commit(std::span<change const> group, std::int64_t results_size,
                     std::span<note const> notes) try {
  std::lock_guard const held(mutex_);
  run(begin_);
  store_fresh();
  if (!edits_.empty()) store_corrected();
  for (auto const& [key, value] : std::exchange(to_note_, {})) store_note({key, value});
  for (auto const& n : notes) store_note(n);
  for (auto const& [line, to] : group) {
    auto const& s = to == line_state::open ? reopen_ : settle_;
    sqlite3_bind_int64(s.get(), 1, line);
    if (to == line_state::open) {
      run(s);
      continue;
    }
    sqlite3_bind_int64(s.get(), 2, static_cast<std::int64_t>(to));
    sqlite3_bind_int64(s.get(), 3, seal_of(line, static_cast<std::int64_t>(to)));
    run(s);
    if (sqlite3_changes(db_.get()) == 0)
      throw std::logic_error(fmt::format("line {} has ended already", line));
  }
  sqlite3_bind_int64(grow_.get(), 1, results_size);
  sqlite3_bind_int64(grow_.get(), 2, commits_ + 1);
  run(grow_);
  run(commit_);
  mark_.raise(++commits_);
} catch (...) {
  leave_as_it_is();  // a log that could not be synced must not be carried over into the database
  throw;
}

void journal::close() {
  std::lock_guard const held(mutex_);
  run(begin_);
  for (auto const& [key, value] : std::exchange(to_note_, {})) store_note({key, value});
  execute("UPDATE run SET open = 0");
  run(commit_);
  for (auto* s : {&begin_, &commit_, &settle_, &reopen_, &grow_, &note_}) s->reset();
  db_.reset();
  mark_.remove();
}

void journal::fail() const {
  int const code = sqlite3_errcode(db_.get()) & 0xff;
  auto const what = printable(sqlite3_errmsg(db_.get()));  // it may quote what is in the file
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) damaged(what);
  throw fatal(exit_io, fmt::format("cannot write {}: {}", path_, what));
}

// What is in its log stays there when it is closed.
void journal::leave_as_it_is() const noexcept {
  if (db_) sqlite3_db_config(db_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

void journal::refuse(std::string_view why) const {
  leave_as_it_is();
  throw fatal(exit_usage,
              fmt::format("{} {}, or start afresh with another --journal and --out", path_, why));
}

void journal::damaged(std::string_view how) const {
  leave_as_it_is();
  throw fatal(
      exit_usage,
      fmt::format("{} is damaged ({}); it is left as it is; choose another --journal", path_, how));
}

void journal::execute(char const* sql) const {
  if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

journal::statement journal::prepare(char const* sql) const {
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v3(db_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &prepared, nullptr) !=
      SQLITE_OK)
    fail();
  return statement(prepared);
}

bool journal::step(statement const& s) const {
  int const code = sqlite3_step(s.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) fail();
  return false;
}

void journal::run(statement const& s) const {
  step(s);
  sqlite3_reset(s.get());
}

}  // namespace headway::app
