/// A session: one connection of a client, and its requests one after another.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/exchange.hpp"
#include "proxy/message.hpp"

namespace headway::app::proxy {

/// It reads on while it answers, so that a client that leaves is noticed at once; one that closes
/// its side is gone, as far as can be told. It does not read while a body waits for room, nor more
/// than 16 KiB of what comes before its turn. Threads: one.
class session final : public client_side, public std::enable_shared_from_this<session> {
 public:
  session(service&, tcp::socket);
  ~session();
  session(session const&) = delete;
  session& operator=(session const&) = delete;

  void start();
  /// Each second: closes what is too slow.
  void tick(time_point now);
  /// There is room for the body that it waits to read.
  void room();
  /// No further request is read; what has begun to come is.
  void drain();
  /// What has not come by now is refused; whether there was any.
  bool finish_drain();
  /// What it has asked for stops, too.
  void close();
  /// Whether a request has begun to come, and is not answered.
  bool active() const noexcept {
    return is_ == phase::head ? reader_ || drains_ : is_ < phase::lingering;
  }
  bool wants_room() const noexcept { return is_ == phase::room; }

  std::size_t place = 0;  ///< among the sessions of the service

 private:
  enum class phase : std::uint8_t { head, body, room, answering, lingering, closed };

  void answer_begins(std::string head) override;
  void answer_goes_on(std::string_view bytes, bool chunked) override;
  void answer_ends(bool chunked, bool keeps_alive) override;
  void answer_breaks() override;
  bool is_full() const noexcept override;

  void read();
  void on_read(error_code, std::size_t);
  void on_gone();
  void work();
  void feed();
  bool on_head();
  void read_body();
  time_point body_due() const;
  void begin();
  void refuse(refusal const&);
  void flush();
  void on_written(error_code);
  void next();
  std::string credential();

  service& house_;
  tcp::socket socket_;
  std::string peer_;
  phase is_ = phase::head;
  std::vector<char> in_;
  std::string rest_;  // read, and not yet looked at
  std::unique_ptr<request_reader> reader_;
  std::unique_ptr<order> order_;
  std::shared_ptr<server> to_;
  std::shared_ptr<exchange> exchange_;
  std::string out_, writing_;
  std::string credential_of_, credential_;  // the last that was seen, and its digest
  time_point since_{};                      // its phase
  time_point heard_{};                      // a byte of its body
  time_point write_due_ = never;
  std::size_t held_ = 0;               // bytes of its body that count
  bool gone_ = false, begun_ = false;  // its client; an answer
  bool reading_ = false, ended_ = false, keeps_alive_ = true, drains_ = false;
  bool skipped_ = false;  // an empty line before its request
};

}  // namespace headway::app::proxy
