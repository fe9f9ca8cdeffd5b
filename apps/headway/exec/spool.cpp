#include "exec/spool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "journal/input_order.hpp"

namespace headway::app {

void spool::begin(std::string path) {
  drop();
  path_ = std::move(path);
  text_.clear();
  size_ = 0;
}

void spool::append(std::string_view bytes) {
  size_ += static_cast<std::int64_t>(bytes.size());
  if (copy_) copy_->append(bytes);
  if (!file_ && text_.size() + bytes.size() <= memory_max) {
    text_ += bytes;
    return;
  }
  if (!file_) {
    if (path_.empty()) {
      file_ = std::make_shared<file>(nameless_file());
    } else {
      ::unlink(path_.c_str());  // of a run that was killed
      file_ = std::make_shared<file>(file::open(path_, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW));
    }
    file_->append(text_);
    std::string().swap(text_);
  }
  file_->append(bytes);
}

std::string spool::tail(std::size_t most) const {
  if (!file_) return text_.substr(text_.size() - std::min(text_.size(), most));
  auto const want = std::min(static_cast<std::size_t>(size_), most);
  std::string last(want, '\0');
  auto const n = ::pread(file_->fd(), last.data(), want, size_ - static_cast<std::int64_t>(want));
  last.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return last;
}

spooled spool::take() noexcept {
  copy_.reset();
  return {std::move(text_), std::move(file_), size_};
}

void spool::drop() noexcept {
  if (file_ && !path_.empty()) ::unlink(path_.c_str());
  file_.reset();
  copy_.reset();
}

}  // namespace headway::app
