/// The headers of a server that commands print: asked for again while requests go on.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/header_commands.hpp"
#include "headway/time.hpp"
#include "proxy/looped_poller.hpp"

namespace headway::app::proxy {

/// Threads: one.
class renewal {
 public:
  /// Begins to ask once `io` runs. `news`: is called when there are new values, and when there
  /// should be and are not. Errors: fatal(exit_usage).
  renewal(boost::asio::io_context& io, std::vector<std::string> const& commands,
          std::optional<duration> ttl, std::function<void()> news);
  renewal(renewal const&) = delete;
  renewal& operator=(renewal const&) = delete;

  /// Waits for the first values. Errors: fatal(exit_usage) where a command fails.
  void obtain();

  /// Nothing is to be sent: the values were refused, or there are none yet.
  bool wanted() const noexcept { return commands_.refused() || commands_.generation() == 0; }
  /// Why there may be none for long; "": they are expected.
  std::string_view problem() const noexcept;
  /// Until the commands run again.
  duration again_in(time_point now) const noexcept;

  /// Of the current values.
  std::uint64_t generation() const noexcept { return commands_.generation(); }
  /// A server refused the values of `generation`.
  void refuse(std::uint64_t generation);
  /// Returns a message's head with the current values in the place of stand-ins.
  std::string filled(std::string_view head);

 private:
  void arm();
  void beat();

  looped_poller events_;
  header_commands commands_;
  std::function<void()> news_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for a timer that ends after this
  std::vector<std::string> stand_ins_, lines_;
  std::uint64_t lines_of_ = 0;  // generation
  int failures_ = 0;            // that have been told
};

}  // namespace headway::app::proxy
