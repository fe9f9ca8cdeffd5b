/// Wires: connections to a server, made, kept and used again.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "headway/time.hpp"
#include "proxy/config.hpp"
#include "proxy/http_proxy.hpp"
#include "proxy/message.hpp"

namespace headway::app::proxy {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

class wires;

/// How a connection was not made.
enum class unreached : std::uint8_t {
  broken,
  refused,  ///< nothing listens there
  futile,   ///< another attempt would end the same
};

/// What a wire tells the one that uses it.
struct wire_user {
  virtual void on_connected() = 0;
  /// There is no connection.
  virtual void on_unreached(std::string_view why, unreached) = 0;
  virtual void on_written() = 0;
  virtual void on_bytes(std::string_view) = 0;
  virtual void on_end(std::string_view why) = 0;  ///< the server has closed it, or it broke

 protected:
  ~wire_user() = default;
};

/// One connection, plain or TLS. It always reads, but while it is paused: so an end is seen at
/// once.
class wire : public std::enable_shared_from_this<wire> {
 public:
  explicit wire(wires&);
  wire(wire const&) = delete;
  wire& operator=(wire const&) = delete;

  /// Connects; `u` hears of it. Not before it is made.
  void connect(wire_user& u);
  /// Writes both; `body` lives as long as `owner`.
  void send(std::shared_ptr<std::string const> head, std::string_view body,
            std::shared_ptr<void> owner);
  void pause() noexcept { paused_ = true; }
  void resume();
  void close();

  bool open() const noexcept { return open_; }
  /// Whether a byte of a request may have reached the server.
  bool has_sent() const noexcept { return has_sent_; }
  /// Whether a request went before this one.
  bool used_before() const noexcept { return used_before_; }
  time_point idle_since() const noexcept { return idle_since_; }

 private:
  friend class wires;

  void dial(std::vector<tcp::endpoint> const&);
  void dial_next();
  void dialled(std::size_t which, error_code);
  void ask_proxy();
  void secure();
  void ready();
  void fail(std::string_view why, unreached = unreached::broken);
  void read();
  void on_read(error_code, std::size_t);
  /// Returns whether anything has come on one that is idle: a server has nothing to say then, but
  /// its end.
  bool is_over();
  template <class F>
  void with_stream(F f);

  wires& pool_;
  wire_user* user_ = nullptr;
  tcp::socket socket_;
  std::unique_ptr<asio::ssl::stream<tcp::socket&>> tls_;
  std::unique_ptr<asio::steady_timer> timer_, deadline_;  // while it connects
  std::vector<tcp::endpoint> endpoints_;
  std::vector<std::unique_ptr<tcp::socket>> dialling_;
  tcp::endpoint peer_;
  std::string last_error_, asked_;
  std::vector<char> in_;
  time_point idle_since_{};
  bool open_ = false, closed_ = false, has_sent_ = false, used_before_ = false;
  bool paused_ = false, reading_ = false, refused_ = false;
};

/// All wires to one server. Threads: one.
class wires {
 public:
  wires(asio::io_context&, upstream_config const&);
  ~wires();
  wires(wires const&) = delete;
  wires& operator=(wires const&) = delete;

  /// Returns a wire for a request: the one that was given back last, which is open, or a new one,
  /// which is to be connected.
  std::shared_ptr<wire> take(wire_user&, bool fresh = false);
  /// It has no user any more, and its last answer is whole.
  void give_back(std::shared_ptr<wire> const&);
  /// It has no user any more, and is closed.
  void drop(std::shared_ptr<wire> const&);

  /// Closes what has been idle for long. Asks for the addresses again while they are in use.
  void tick(time_point now);
  /// Asks where the name leads; `then` is told why that is not known, or "". Not where this is gone
  /// by then.
  void find(std::function<void(std::string const& problem)> then);
  /// Begins with the addresses that others know, which lead to the same server.
  void know(wires const& others);
  /// Asks for the addresses again: what leads elsewhere takes no further request.
  void refresh();
  void close_idle();

  /// Whether a look-up runs, whose end its destructor waits for.
  bool asks() const noexcept { return asks_; }
  /// Whether it is what listens there that would be asked.
  bool lead_to(tcp::endpoint const& listens) const;
  std::size_t idle() const noexcept { return idle_.size(); }
  std::size_t busy() const noexcept { return busy_; }

 private:
  friend class wire;
  using found = std::function<void(error_code, std::vector<tcp::endpoint> const&)>;
  void resolve(found);
  void ask();
  void resolved(error_code, std::vector<tcp::endpoint>);
  bool leads_here(wire const&) const noexcept;
  void forget(wire const&);

  asio::io_context& io_;
  std::string host_, port_;  // of the server
  std::optional<http_proxy> via_;
  bool secure_;
  asio::ssl::context tls_{asio::ssl::context::tls_client};
  void* session_ = nullptr;  // SSL_SESSION*, to be resumed
  std::jthread look_up_;     // one for each server: a slow resolver of one name holds no other up
  std::vector<tcp::endpoint> addresses_;
  time_point resolved_{};
  bool asks_ = false;
  std::vector<found> asking_;
  std::vector<std::shared_ptr<wire>> idle_;
  std::size_t busy_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for what ends after this
};

}  // namespace headway::app::proxy
