#include "proxy/control.hpp"

#include <utility>

#include "base/clock.hpp"
#include "watch/scopes.hpp"

namespace headway::app::proxy {

control::control(boost::asio::io_context& io, std::function<std::string(command const&)> answers)
    : events_(io,
              [this](std::span<poller::event const> ready) {
                for (auto const& event : ready) socket_.service().ready(clock_now(), event);
              }),
      socket_(events_.events(), "proxy", [answers = std::move(answers)](std::string_view line) {
        return answered(line, answers);
      }) {}

}  // namespace headway::app::proxy
