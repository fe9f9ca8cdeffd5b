/// Short exchanges with other processes, answered from the loop of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "headway/pacer/gcra.hpp"
#include "headway/time.hpp"
#include "os/file.hpp"
#include "os/poller.hpp"

namespace headway::app {

/// Serves a listening socket. Its work is bounded whatever its peers do: so many connections, so
/// many bytes of a question, so many exchanges a second, one of each peer in turn; a peer that
/// neither asks nor reads is hung up on, first of all where another wants its place. Threads: one.
class listener {
 public:
  struct reply {
    std::size_t bytes = 0;  ///< of the question
    std::string text{};
    bool last = false;  ///< hang up after it
  };
  /// Answers what a peer has said; nullopt: it has not said all.
  using answerer = std::function<std::optional<reply>(std::string_view said)>;
  /// Whether to talk to the peer of a connection.
  using doorkeeper = std::function<bool(int fd)>;

  static constexpr std::size_t connections_max = 32;
  static constexpr std::size_t question_max = 4096;  // bytes
  static constexpr duration idle_max = 10s;

  /// `socket` listens and does not block.
  listener(poller&, file socket, answerer, doorkeeper = {});
  ~listener();
  listener(listener const&) = delete;
  listener& operator=(listener const&) = delete;

  /// Takes an event of the poller; false: it is not ours.
  bool ready(time_point now, poller::event const&);
  /// When tick() has something to do.
  time_point wakeup() const noexcept;
  void tick(time_point now);

 private:
  struct connection {
    int fd;
    time_point active;
    std::string in{}, out{};
    bool more = false;  // `in` may have a whole question
    bool last = false;

    bool waits_to_ask() const noexcept { return out.empty() && !more; }
  };
  using connections = std::list<connection>;  // the one longest idle first

  void accept_some(time_point now);
  void serve(time_point now, connections::iterator);
  bool converse(time_point now, connection&);
  void close(connections::iterator);
  bool rests(time_point now);
  void watch_all();
  void watch(connection const&);
  void make_room();

  poller& events_;
  file socket_;
  answerer answers_;
  doorkeeper lets_in_;
  connections all_{};
  gcra effort_ = gcra::per(300, 1s, 100);
  time_point rests_until_ = time_point::min();
  bool resting_ = false;
  bool accepts_first_ = true;  // after a rest: in turn with those that are there
};

/// A socket that listens at "HOST:PORT" or ":PORT", which is 127.0.0.1. Errors: fatal(exit_usage)
/// that says what is wrong, with `option` before it.
file listen_at(std::string_view option, std::string const& address);

}  // namespace headway::app
