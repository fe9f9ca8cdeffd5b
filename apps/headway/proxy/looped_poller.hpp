/// A poller in the loop of an io_context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <span>

#include "os/poller.hpp"

namespace headway::app::proxy {

/// What watches descriptors through a poller, watches them in that loop. Threads: one, that of the
/// io_context.
class looped_poller {
 public:
  /// `ready` is called whenever some are.
  looped_poller(boost::asio::io_context&,
                std::function<void(std::span<poller::event const>)> ready);
  looped_poller(looped_poller const&) = delete;
  looped_poller& operator=(looped_poller const&) = delete;

  poller& events() noexcept { return events_; }
  /// Calls no more.
  void close();

 private:
  void await();

  poller events_;
  std::function<void(std::span<poller::event const>)> ready_;
  boost::asio::posix::stream_descriptor watched_;               // a copy of the poller's own
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for what ends after this
};

}  // namespace headway::app::proxy
