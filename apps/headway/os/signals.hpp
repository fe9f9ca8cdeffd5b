/// The signals that end a run, as a descriptor.
#pragma once

namespace headway::app {

/// Takes over SIGINT, SIGTERM and SIGPIPE (ignored) of the process, and SIGHUP and SIGQUIT unless
/// they are ignored. To be made before any thread is, so that all of them inherit the mask.
class signals {
 public:
  signals();
  ~signals();
  signals(signals const&) = delete;
  signals& operator=(signals const&) = delete;

  /// Readable when a signal has come.
  int fd() const noexcept { return fd_; }

  /// The signal that has come, or 0.
  int take() noexcept;

 private:
  int fd_;
};

}  // namespace headway::app
