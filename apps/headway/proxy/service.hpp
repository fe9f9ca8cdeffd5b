/// The service: listener, servers and sessions of `headway proxy`, in one thread.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/fatal.hpp"
#include "proxy/access_log.hpp"
#include "proxy/admin.hpp"
#include "proxy/config.hpp"
#include "proxy/control.hpp"
#include "proxy/listener.hpp"
#include "proxy/server.hpp"
#include "proxy/session.hpp"
#include "proxy/state.hpp"

namespace headway::app::proxy {

class service {
 public:
  /// `reread`: the configuration as it is now, for SIGHUP. Errors: fatal; then nothing listens.
  service(config, std::function<config()> reread);
  ~service();
  service(service const&) = delete;
  service& operator=(service const&) = delete;

  /// Serves until a signal ends it. Returns the exit code.
  int run();

  // For its parts:
  asio::io_context& io() noexcept { return io_; }
  config const& settings() const noexcept { return config_; }
  bool draining() const noexcept { return draining_; }
  bool retry_unsafe() const noexcept { return config_.retry_unsafe; }
  std::shared_ptr<server> const& server_of(std::size_t upstream) { return servers_[upstream]; }
  std::string new_id();
  /// Names this process to itself, where a request of its own comes back (CDN-Loop, RFC 8586).
  std::string const& mark() const noexcept { return mark_; }
  void ended(log_entry const&);
  void add(session&);
  void remove(session&);
  void received(std::size_t n) noexcept { received_ += n; }
  void sent(std::size_t n) noexcept { sent_ += n; }

  /// Counts bytes of bodies that are held. False where there is no room for them now.
  bool hold_bytes(std::size_t) noexcept;
  void release_bytes(std::size_t) noexcept;
  /// It is called when there may be room.
  void wait_for_room(std::shared_ptr<session>);
  bool lacks_room() const;
  /// Whether no further client is taken until one leaves.
  bool lacks_places() const noexcept { return listener_->paused(); }

  proxy_state state();

 private:
  void take_signals();
  void reload();
  std::shared_ptr<server> before_of(upstream_config const&, config const& fresh) const;
  void take_over(config fresh, std::vector<std::shared_ptr<server>> servers);
  void stay(std::string_view why);
  std::string loop_of(server&) const;
  void offer_room();
  void drain(int signal);
  void finish_drain();
  void hurry();
  void tick();
  void sweep();
  std::size_t places() const noexcept;
  void check_drained();
  void hear_fleet();
  std::optional<admin_page> page(std::string_view path);
  std::string obey(command const&);
  std::variant<std::size_t, fatal> order(server&, command const&);
  std::string state_for_ctl();

  asio::io_context io_{1};
  std::size_t const room_;  // connections, of clients and to upstreams
  config config_;
  std::shared_ptr<fleet_link> fleet_{};  // null: no other host shares a limit
  std::function<config()> reread_;
  time_point const began_;
  std::string const mark_;
  std::vector<std::shared_ptr<server>> servers_;
  std::vector<command> orders_;                   // in force, also for servers that a reload brings
  std::vector<std::shared_ptr<server>> leaving_;  // no request goes there any more
  std::vector<session*> sessions_;
  std::size_t unswept_ = 0;  // of them, in this second
  std::deque<std::shared_ptr<session>> want_room_;
  std::unique_ptr<listener> listener_;
  std::unique_ptr<admin> admin_;
  std::unique_ptr<access_log> log_;
  std::unique_ptr<control> control_;
  asio::signal_set signals_{io_};
  asio::steady_timer tick_{io_}, drain_{io_}, hard_stop_{io_};
  asio::posix::stream_descriptor news_of_fleet_{io_};
  bool draining_ = false, drained_ = false;  // its deadline has passed
  int signal_ = 0;
  bool cut_off_ = false;
  std::size_t held_ = 0;
  std::uint64_t received_ = 0, sent_ = 0, ids_ = 0;
  std::uint64_t ticks_ = 0, reloads_ = 0;
  std::deque<ended_request> last_;
  std::array<std::map<std::string_view, duration>, 60> hour_{};  // by minute, and why
};

}  // namespace headway::app::proxy
