#include "journal/input_order.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "base/fatal.hpp"
#include "os/replacement.hpp"

namespace headway::app {
namespace {

constexpr std::size_t block_bytes = 256 * 1024;

struct entry {
  std::int64_t line, offset, length;
};

[[noreturn]] void cannot(std::string_view what, std::string_view path, int error) {
  throw fatal(exit_io, fmt::format("cannot {} {}: {}", what, path, std::strerror(error)));
}

/// Calls `use(offset, bytes)` with the next bytes of `from`, until `end`.
template <class Use>
void read_through(file const& from, std::int64_t begin, std::int64_t end, Use use) {
  std::string block(std::min(block_bytes, static_cast<std::size_t>(end - begin)), '\0');
  while (begin < end) {
    auto const n = ::pread(from.fd(), block.data(),
                           std::min(block.size(), static_cast<std::size_t>(end - begin)), begin);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) cannot("read", from.path(), n == 0 ? EIO : errno);
    if (!use(begin, std::string_view(block.data(), static_cast<std::size_t>(n)))) return;
    begin += n;
  }
}

/// The `line` of a result, or 0 if it is not all in `text`. Within an id the quote is escaped.
std::int64_t line_of(std::string_view text) {
  constexpr std::string_view key = R"(","line":)";
  auto const at = text.find(key);
  if (at == text.npos) return 0;
  auto const digits = text.substr(at + key.size());
  std::int64_t line = 0;
  auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), line);
  return error == std::errc{} && end != digits.data() + digits.size() ? line : 0;
}

/// Where each result is, sorted. On disk, and mapped: the kernel writes it there when memory is
/// short.
class index {
 public:
  explicit index(file const& results) : file_(nameless_file(results.path())) {
    std::string pending, begun;  // entries; what is read of a result until its number
    entry now{.line = 0, .offset = 0, .length = 0};
    auto const keep = [&] {
      sorted_ = sorted_ && std::tie(now.line, now.offset) > std::tie(last_.line, last_.offset);
      last_ = now;
      pending.append(reinterpret_cast<char const*>(&now), sizeof now);
      if (pending.size() >= block_bytes) flush(pending);
    };
    read_through(results, 0, results.size(), [&](std::int64_t offset, std::string_view bytes) {
      while (!bytes.empty()) {
        auto const end = bytes.find('\n');
        auto const part = bytes.substr(0, end == bytes.npos ? end : end + 1);
        if (now.line == 0) {
          begun += part;
          now.line = line_of(begun);
        }
        now.length += static_cast<std::int64_t>(part.size());
        offset += static_cast<std::int64_t>(part.size());
        bytes.remove_prefix(part.size());
        if (end == part.npos) break;
        if (now.line == 0) refuse(results, now);
        keep();
        begun.clear();
        now = {.line = 0, .offset = offset, .length = 0};
      }
      return true;
    });
    if (now.length > 0) refuse(results, now);
    flush(pending);
    if (bytes_ > 0) map();
    if (!sorted_)
      std::ranges::sort(entries(), {}, [](entry const& e) { return std::tie(e.line, e.offset); });
  }
  ~index() {
    if (mapped_ != nullptr) ::munmap(mapped_, bytes_);
  }
  index(index const&) = delete;
  index& operator=(index const&) = delete;

  bool was_sorted() const noexcept { return sorted_; }

  /// Sorted.
  std::span<entry> entries() const noexcept { return {mapped_, bytes_ / sizeof(entry)}; }

  /// Calls `use(bytes)` with all of `results`, in order, until it says false.
  template <class Use>
  void each(file const& results, Use use) const {
    if (sorted_) {
      read_through(results, 0, results.size(),
                   [&](std::int64_t, std::string_view bytes) { return use(bytes); });
      return;
    }
    bool go_on = true;
    for (auto const& e : entries()) {
      read_through(results, e.offset, e.offset + e.length,
                   [&](std::int64_t, std::string_view bytes) { return go_on = use(bytes); });
      if (!go_on) return;
    }
  }

 private:
  [[noreturn]] static void refuse(file const& results, entry const& e) {
    throw fatal(exit_usage, fmt::format("{}: what begins at byte {} is no result of ours; it is "
                                        "left in the order in which requests ended",
                                        results.path(), e.offset));
  }

  void flush(std::string& pending) {
    file_.append(pending);
    bytes_ += pending.size();
    pending.clear();
  }

  void map() {
    auto* const at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.fd(), 0);
    if (at == MAP_FAILED) cannot("map", file_.path(), errno);
    mapped_ = static_cast<entry*>(at);
  }

  file file_;
  std::size_t bytes_ = 0;
  entry last_{};
  bool sorted_ = true;
  entry* mapped_ = nullptr;
};

}  // namespace

void put_in_order(file const& results, durability level) {
  index const order(results);
  if (order.was_sorted()) return;
  replacement sorted(std::filesystem::canonical(results.path()).string());
  std::string block;
  order.each(results, [&](std::string_view bytes) {
    block += bytes;
    if (block.size() >= block_bytes) {
      sorted.append(block);
      block.clear();
    }
    return true;
  });
  sorted.append(block);
  if (level == durability::power) sorted.sync();
  sorted.put();
  if (level == durability::power) sorted.sync_name();
}

bool write_in_order(file const& results, int out) {
  bool read = true;
  index(results).each(results, [&](std::string_view bytes) {
    return read = write_all(out, bytes) == bytes.size();
  });
  return read;
}

void each_last_result(file const& results,
                      std::function<void(std::int64_t line, std::string_view result)> const& use) {
  index const order(results);
  auto const entries = order.entries();
  std::string result;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto const& e = entries[i];
    if (i + 1 < entries.size() && entries[i + 1].line == e.line) continue;
    result.clear();
    read_through(results, e.offset, e.offset + e.length, [&](std::int64_t, std::string_view bytes) {
      result += bytes;
      return true;
    });
    use(e.line, std::string_view(result).substr(0, result.size() - 1));
  }
}

file nameless_file(std::string const& beside) {
  auto const folder = std::filesystem::exists(beside)
                          ? std::filesystem::canonical(beside).parent_path()
                          : std::filesystem::temp_directory_path();
  auto path = (folder / ".headway-XXXXXX").string();
  auto const fd = ::mkostemp(path.data(), O_APPEND | O_CLOEXEC);
  if (fd < 0) cannot("make a file in", folder.string(), errno);
  ::unlink(path.c_str());
  return {fd, "a temporary file"};
}

}  // namespace headway::app
