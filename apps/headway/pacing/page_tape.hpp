/// What a pace was told by its page, so that its decisions can be made again.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "headway/shared/common_pace.hpp"
#include "headway/shared/page.hpp"

namespace headway::app {

/// The answers of a page since the tape was taken last, but for those that follow from what was
/// known: that no other process has acted, that what was published is valid, that seats are as they
/// were.
///
/// An answer is the number of its question and what it was: "2v" another has acted; "3r5=1.5,9=0" a
/// value, whose numbers 5 and 9 are not as they were; "3x" no value; "4f" not published; "5t" the
/// seat has changed; "6n123" the time. Threads: one.
class page_tape {
 public:
  /// Returns the answers, and begins anew.
  std::string take();
  /// Answers are these from now on.
  void play(std::string_view answers);

 private:
  friend class recording_page;
  friend class replayed_page;
  void note(std::string_view what);
  /// Whether the next answer is to the question that was asked last, and of that kind; what follows
  /// is then in `rest`.
  bool says(char kind, std::string_view& rest);

  std::string answers_;
  std::size_t at_ = 0;  // of what is played
  int asked_ = 0;
  common_pace known_{};
  std::array<bool, common_pace::members_max> taken_{};
};

/// A page whose answers go to a tape.
class recording_page final : public page {
 public:
  recording_page(std::unique_ptr<page> real, std::shared_ptr<page_tape> to)
      : real_(std::move(real)), tape_(std::move(to)) {}

  version latest() const noexcept override;
  bool read(version& seen, common_pace& value) const noexcept override;
  bool publish(version& seen, common_pace const& value) noexcept override;
  int seat() const noexcept override { return real_->seat(); }
  bool taken(int seat) const noexcept override;
  bool inherited() const noexcept override { return real_->inherited(); }
  std::unique_ptr<page> join_anew() const noexcept override { return real_->join_anew(); }
  time_point now() const noexcept override;

 private:
  std::unique_ptr<page> real_;
  std::shared_ptr<page_tape> tape_;
  mutable version known_ = unseen;
};

/// A page that answers as a tape has it.
class replayed_page final : public page {
 public:
  replayed_page(int seat, std::shared_ptr<page_tape> from) : seat_(seat), tape_(std::move(from)) {}

  version latest() const noexcept override;
  bool read(version& seen, common_pace& value) const noexcept override;
  bool publish(version& seen, common_pace const& value) noexcept override;
  int seat() const noexcept override { return seat_; }
  bool taken(int seat) const noexcept override;
  bool inherited() const noexcept override { return false; }
  std::unique_ptr<page> join_anew() const noexcept override { return nullptr; }
  time_point now() const noexcept override;

 private:
  int seat_;
  std::shared_ptr<page_tape> tape_;
  mutable version known_ = 1;
};

}  // namespace headway::app
