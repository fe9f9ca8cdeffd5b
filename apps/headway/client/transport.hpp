/// HTTP by libcurl, behind an interface that knows nothing of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headway/http/advice.hpp"
#include "headway/time.hpp"
#include "os/poller.hpp"

namespace headway::app {

/// What is known of a request that has no complete answer.
enum class send_state : std::uint8_t {
  not_sent,  ///< no byte of it has left, or the server says that it has not acted on it
  sent,      ///< it may have been carried out
  answered,  ///< the status has arrived
};

/// What came of one attempt. Valid during the callback only.
struct reply {
  send_state state = send_state::not_sent;
  bool reached = false;         ///< there was a connection, TLS included
  int status = 0;               ///< 0 unless answered
  std::string_view body{};      ///< decompressed
  std::string_view type{};      ///< Content-Type, "" if none
  std::string_view error{};     ///< what broke, one line; "" when the answer is complete
  std::string_view obstacle{};  ///< what kept it from being sent, in plain words; "": see error
  bool too_large = false;       ///< the body was longer than allowed; it is not told in part
  bool crowded_out = false;     ///< it broke off as bodies_max had no room for its body then
  bool too_many = false;  ///< it was refused without a status, since there is too much (HTTP/2)
  bool stale = false;     ///< sent, and a kept connection was closed before a byte of the answer
  bool futile = false;    ///< another attempt would end the same: a certificate that is not trusted
  std::span<http::field const> fields{};  ///< of the answer's header, at most fields_max
};

struct transport_options {
  duration connect_timeout = 10s;
  duration silence_max = 60s;  ///< without a byte
  std::size_t body_max = std::size_t{64} << 20;
  std::size_t bodies_max = std::size_t{512} << 20;  ///< of all in flight
  std::string ca_file{};                            ///< "": the system's
  std::string sigv4{};      ///< "aws:amz:REGION:SERVICE": every attempt is signed; "": none
  std::string sigv4_key{};  ///< "ID:SECRET"
  std::string user_agent = "headway/" HEADWAY_VERSION;
};

/// One attempt, as it goes out: once at most. What the views name must live until the reply.
struct attempt {
  std::string_view url;
  std::string_view method;
  std::span<std::string const> headers{};  ///< "Name: value"
  std::optional<std::string_view> body{};
  std::optional<duration> timeout{};  ///< of the whole attempt
  bool may_be_silent = false;         ///< silence_max does not apply
  bool fresh_connection = false;      ///< not by one that is kept
};

/// Keep-alive, HTTP/2 over TLS, verified certificates, proxies from the environment, compression.
/// Does not follow redirects. Threads: one.
class transport {
 public:
  using done = std::function<void(std::uint64_t key, reply const&)>;
  /// The head of an answer has come, and its end has not: `body` is what there is of it. Called
  /// from within flush(), again as more of the body comes, until it returns true.
  using head = std::function<bool(std::uint64_t key, reply const&)>;

  transport(poller&, transport_options, head, done);
  ~transport();
  transport(transport const&) = delete;
  transport& operator=(transport const&) = delete;

  /// Starts an attempt; its reply comes by `done` from within ready() or flush(), never from here.
  void send(std::uint64_t key, attempt const&);

  /// `fd` of the poller is ready. False when it is none of ours.
  bool ready(poller::event const&);

  /// Does what is due, and tells of answers as long as `has_room`; to be called once after every
  /// wait.
  void flush(std::function<bool()> const& has_room);

  /// Bytes of the bodies in flight, both ways. Beyond half of bodies_max nothing more should be
  /// sent, and answers are read no further, but for one: so there always is one that goes on until
  /// it ends or falls silent. What would be beyond all of bodies_max breaks off.
  std::size_t body_bytes() const noexcept;

  /// When flush() must be called at the latest.
  time_point wakeup() const noexcept;

 private:
  class impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace headway::app
