/// An exchange: one request, until its answer has been passed on.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/hints.hpp"
#include "proxy/passing.hpp"
#include "proxy/server.hpp"
#include "proxy/wire.hpp"

namespace headway::app::proxy {

class service;

/// Where the answer goes: the client's connection.
struct client_side {
  virtual void answer_begins(std::string head) = 0;
  virtual void answer_goes_on(std::string_view bytes, bool chunked) = 0;
  virtual void answer_ends(bool chunked, bool keeps_alive) = 0;
  /// Half of an answer has been passed on, and there is no other half.
  virtual void answer_breaks() = 0;
  virtual bool is_full() const noexcept = 0;  ///< it takes no more for now

 protected:
  ~client_side() = default;
};

/// A request that is whole.
struct order {
  std::string method, target;  ///< target: as the server is asked
  std::string path;            ///< for people: without the query
  std::string base;            ///< see route::base
  std::shared_ptr<std::string const> head;
  std::string body;  ///< as they go out
  std::string id, client, scope, credential, trace;
  hints told;
  int version = 11;
  bool keeps_alive = true;
  bool idempotent = false;
};

/// Threads: one.
class exchange final : public waiter,
                       public wire_user,
                       public std::enable_shared_from_this<exchange> {
 public:
  /// It keeps its client until it is over.
  exchange(service&, std::shared_ptr<client_side>, std::shared_ptr<server>, order);
  ~exchange();
  exchange(exchange const&) = delete;
  exchange& operator=(exchange const&) = delete;

  void start(time_point now);
  /// The client is gone, and everything stops.
  void leave();
  /// The client takes more again.
  void go_on();
  /// When tick() is to be called at the latest.
  time_point due() const noexcept { return due_; }
  void tick(time_point now);

  /// Returns an answer of our own, whole. `more`: fields.
  static std::string own_answer(refusal const&, bool keeps_alive, bool only_head,
                                std::string_view more = "");

 private:
  enum class phase : std::uint8_t { waiting, flying, judging, passing, over };

  void on_turn(time_point now) override;
  void on_refused(refusal) override;
  void on_connected() override;
  void on_unreached(std::string_view why, unreached) override;
  void on_written() override { written_ = true; }
  void on_bytes(std::string_view) override;
  void on_end(std::string_view why) override;

  bool on_head();
  void make_reader();
  void look_closer();
  void look_no_more();
  void be_patient(void (*then)(exchange&));
  void judged(judgement);
  void renew();
  void pass_on(bool given_up);
  void begin();
  void begin_now();
  void pass_body();
  void see(std::string_view piece);
  void whole();
  void complete();
  bool keeps(std::size_t bytes);
  enum class breakage : std::uint8_t { plain, silent, futile };
  void broke(std::string_view why, breakage = breakage::plain);
  void malformed(std::string_view why);
  void wait(time_point now);
  void release();
  void give_up_answer();
  lane::settled settle(judgement const&, bool may_repeat, std::string_view error,
                       bool says_nothing = false);
  bool waits_for(lane::settled const&, time_point now);
  void end(std::string_view how, final_outcome);
  answer_view view() const;
  std::string readable(std::string_view body) const;
  std::string marks() const;

  service& house_;
  std::shared_ptr<client_side> client_;
  std::shared_ptr<server> to_;
  order what_;
  phase is_ = phase::waiting;
  std::shared_ptr<wire> wire_;
  std::unique_ptr<answer_reader> reader_;
  std::unique_ptr<asio::steady_timer> patience_;  // with the first bytes of a body
  std::string seen_;                              // of a body, for what it says it has cost
  std::uint64_t values_ = 0;                      // of --header-cmd in the head: their generation
  std::string begins_;  // the head for the client, until a byte of the body has come
  time_point const arrived_;
  time_point since_{};   // it waits, or flies
  time_point headed_{};  // the head came
  time_point due_ = never;
  duration waited_{0};
  framing how_ = framing::none;
  final_outcome ends_ = final_outcome::failed;  // by an answer of ours; unknown: it was sent once
  judgement told_{};
  std::string rest_;  // of what came, until it can be read
  int attempts_ = 0, throttled_ = 0, interim_ = 0;
  int status_ = 0;
  std::string reason_;
  std::size_t look_at_ = 0;  // bytes of the body before it is judged
  std::size_t kept_ = 0;     // bytes of the answer that count as held
  std::size_t passed_ = 0;   // of the part of the body that has come
  std::uint64_t in_ = 0, out_ = 0;
  bool fresh_ = false, written_ = false, settled_ = false, streamed_ = false, any_bytes_ = false;
  bool extra_ = false;  // more came than the answer
  bool looked_ = false, keeps_alive_ = true;
  bool sees_ = false;     // what the body says it has cost is not known yet
  bool renewed_ = false;  // its values were refused once
  bool begun_ = false;    // the client has something of the answer
};

}  // namespace headway::app::proxy
