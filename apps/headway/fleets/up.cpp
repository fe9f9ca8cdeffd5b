#include "fleets/up.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "base/whole_number.hpp"
#include "base/words.hpp"
#include "fleets/certificate.hpp"
#include "headway/postgres/connection.hpp"
#include "headway/postgres/schema.hpp"
#include "os/file.hpp"
#include "os/notify.hpp"
#include "os/replacement.hpp"
#include "os/signals.hpp"

namespace headway::app {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::string_view role = "headway";  // and its database
constexpr int oldest = 13;

constexpr std::string_view settings = R"(
# What headway fleet up has set. It gives listen_addresses and port itself.
unix_socket_directories = ''
ssl = on
password_encryption = 'scram-sha-256'
max_connections = 500  # two a host
log_checkpoints = off
)";
constexpr std::string_view admission = R"(# Over TLS, by password, and nothing else.
hostssl headway headway all scram-sha-256
)";

void put(fs::path const& path, std::string_view content) {
  replacement out(path.string());
  out.append(content);
  out.sync();
  out.put();
}

std::string content_of(fs::path const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The folder of the server's programs: of this major version, or of the latest that is there (0).
fs::path programs(int version) {
  fs::path best;
  std::error_code none;
  int best_version = oldest - 1;
  for (auto const& each :
       fs::directory_iterator("/usr/lib/postgresql", none)) {  // as Debian has it
    int its = 0;
    if (!parse_whole(each.path().filename().string(), its) || its <= best_version ||
        (version != 0 && its != version) || access((each.path() / "bin/initdb").c_str(), X_OK) != 0)
      continue;
    best_version = its;
    best = each.path() / "bin";
  }
  auto const* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr || !best.empty() ? "" : path;
  while (!rest.empty()) {
    auto const folder = rest.substr(0, rest.find(':'));
    if (!folder.empty() && access((fs::path(folder) / "initdb").c_str(), X_OK) == 0)
      return fs::path(folder);
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
  }
  if (best.empty())
    throw fatal(exit_usage, version == 0
                                ? fmt::format("there is no PostgreSQL {} or later on this machine: "
                                              "apt install postgresql",
                                              oldest)
                                : fmt::format("the data are of PostgreSQL {}, which is not on this "
                                              "machine: apt install postgresql-{}",
                                              version, version));
  return best;
}

/// A program of the server. It is interrupted when we die.
pid_t start(fs::path const& program, std::vector<std::string> arguments, int input, int log) {
  arguments.insert(arguments.begin(), program.string());
  std::vector<char*> argv;
  for (auto& each : arguments) argv.push_back(each.data());
  argv.push_back(nullptr);
  auto const us = getpid();
  auto const child = fork();
  if (child < 0)
    throw fatal(exit_io,
                fmt::format("cannot start {}: {}", program.string(), std::strerror(errno)));
  if (child > 0) return child;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGINT);
  setpgid(0, 0);  // Ctrl-C is for us
  if (getppid() != us || dup2(input, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 ||
      dup2(log, STDERR_FILENO) < 0)
    _exit(127);
  execv(program.c_str(), argv.data());
  _exit(127);
}

std::string last_words(fs::path const& log) {
  auto const text = content_of(log);
  std::string last;
  for (std::size_t begin = 0; begin < text.size();) {
    auto const end = std::min(text.find('\n', begin), text.size());
    auto const line = std::string_view(text).substr(begin, end - begin);
    for (auto const* grave : {"FATAL:", "PANIC:", "ERROR:", "initdb: error:"})
      if (auto const at = line.find(grave); at != line.npos)
        last = trimmed(line.substr(at + std::strlen(grave)));
    begin = end + 1;
  }
  return printable(last.empty() ? "it says nothing" : last);
}

/// Runs a program to its end with `input` as its standard input.
void run(fs::path const& program, std::vector<std::string> arguments, std::string_view input,
         file const& log) {
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) throw fatal(exit_io, std::strerror(errno));
  auto const child = start(program, std::move(arguments), pipe[0], log.fd());
  close(pipe[0]);
  write_all(pipe[1], input);  // that it does not read is seen by its status
  close(pipe[1]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0)
    throw fatal(exit_io, fmt::format("{} failed: {} (all of it: {})", program.filename().string(),
                                     last_words(log.path()), printable(log.path())));
}

/// Letters and digits: 190 bits.
std::string new_password() {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  std::string out;
  while (out.size() < 32) {
    unsigned char byte = 0;
    if (getrandom(&byte, 1, 0) != 1) continue;
    if (byte < 256 / letters.size() * letters.size()) out += letters[byte % letters.size()];
  }
  return out;
}

/// How this machine may be called.
std::vector<std::string> names_of_this_machine(private_server const& server) {
  std::vector<std::string> names = {"localhost", "127.0.0.1", "::1"};
  std::array<char, 256> own{};
  if (gethostname(own.data(), own.size() - 1) == 0) names.emplace_back(own.data());
  if (!server.name.empty()) names.push_back(server.name);
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) == 0) {
    for (auto const* each = all; each != nullptr; each = each->ifa_next) {
      std::array<char, NI_MAXHOST> text{};
      auto const family = each->ifa_addr == nullptr ? AF_UNSPEC : each->ifa_addr->sa_family;
      auto const size = family == AF_INET    ? sizeof(sockaddr_in)
                        : family == AF_INET6 ? sizeof(sockaddr_in6)
                                             : 0;
      if (size == 0 || getnameinfo(each->ifa_addr, static_cast<socklen_t>(size), text.data(),
                                   text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
        continue;
      std::string name(text.data());
      names.push_back(name.substr(0, name.find('%')));  // without the interface of a local one
    }
    freeifaddrs(all);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool everywhere(address const& a) {
  return a.host == "0.0.0.0" || a.host == "::";
}

/// How other hosts call it.
std::string public_name(private_server const& server) {
  if (!server.name.empty()) return server.name;
  if (!everywhere(server.listen)) return server.listen.host;
  std::array<char, 256> own{};
  gethostname(own.data(), own.size() - 1);
  return own.data();
}

void require_free(address const& at) {
  addrinfo how{};
  how.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  how.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(at.host.c_str(), std::to_string(at.port).c_str(), &how, &found) != 0) return;
  auto const probe = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int const yes = 1;
  setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);  // as the server does
  auto const refused = bind(probe, found->ai_addr, found->ai_addrlen) != 0 ? errno : 0;
  close(probe);
  freeaddrinfo(found);
  if (refused != 0)
    throw fatal(exit_io, fmt::format("cannot listen at {}: {}", at.text(), std::strerror(refused)));
}

/// A file's name within a URL.
std::string escaped(std::string_view path) {
  std::string out;
  for (char const c : path)
    out += is_alphanumeric(c) || std::string_view("/._-~").find(c) != std::string_view::npos
               ? std::string(1, c)
               : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return out;
}

std::string url_of(std::string const& host, std::uint16_t port, fs::path const& join) {
  auto const shown = host.find(':') == host.npos ? host : "[" + host + "]";
  return fmt::format("postgresql://{0}@{1}:{2}/{0}?passfile={3}&sslrootcert={4}", role, shown, port,
                     escaped((join / "pgpass").string()), escaped((join / "root.crt").string()));
}

/// The folder, with what is in it.
class instance {
 public:
  explicit instance(private_server const& server)
      : server_(server), folder_(fs::absolute(server.folder).lexically_normal()) {
    if (folder_.filename().empty()) folder_ = folder_.parent_path();
    std::error_code error;
    auto const there = fs::exists(folder_, error);
    if (there && !fs::exists(folder_ / "lock", error) && !fs::is_empty(folder_, error))
      throw fatal(exit_usage, fmt::format("{} has files of others: want a new or empty folder, or "
                                          "one that fleet up has made",
                                          in_quotes(folder_.string())));
    for (auto const& each : {folder_, join()}) {
      fs::create_directories(each, error);
      if (!error) fs::permissions(each, fs::perms::owner_all, error);
      if (error)
        throw fatal(exit_io, fmt::format("cannot make {}: {}", each.string(), error.message()));
    }
    lock_.emplace(file::open((folder_ / "lock").string(), O_RDWR | O_CREAT));
    lock_->lock();
    require_free(server.listen);
    log_.emplace(file::open((folder_ / "log").string(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND));
    int version = 0;
    if (fs::exists(data()) &&
        !parse_whole(trimmed(content_of(data() / "PG_VERSION"), " \n"), version))
      throw fatal(exit_usage, fmt::format("{} is no data of PostgreSQL", data().string()));
    programs_ = programs(version);
    if (version == 0) make();
    admit();
  }

  fs::path join() const { return folder_ / "join"; }
  fs::path const& folder() const noexcept { return folder_; }

  pid_t serve() const {
    auto const nothing = file::open("/dev/null", O_RDONLY);
    return start(programs_ / "postgres",
                 {"-D", data().string(), "-c", "listen_addresses=" + server_.listen.host, "-c",
                  fmt::format("port={}", server_.listen.port)},
                 nothing.fd(), log_->fd());
  }

  /// `status`: as waitpid() has it.
  [[noreturn]] void ended(int status) const {
    auto const why = WIFSIGNALED(status) ? fmt::format("by signal {}", WTERMSIG(status))
                                         : last_words(log_->path());
    throw fatal(exit_io, fmt::format("PostgreSQL has ended: {} (all of it: {})", why,
                                     printable(log_->path())));
  }

 private:
  fs::path data() const { return folder_ / "data"; }

  /// One statement for the server's program itself, without a network or a password: there, a blank
  /// line ends a statement.
  void tell(fs::path const& data, std::string const& database, std::string text) const {
    for (auto at = text.find("\n\n"); at != text.npos; at = text.find("\n\n", at))
      text.erase(at, 1);
    while (text.ends_with('\n') || text.ends_with(';')) text.pop_back();
    run(programs_ / "postgres",
        {"--single", "-j", "-D", data.string(), "-c", "exit_on_error=on", "-c",
         "log_min_error_statement=panic", database},
        text + ";\n\n", *log_);
  }

  /// In a folder that gets its name when it is whole.
  void make() const {
    auto const unfinished = folder_ / "data.new";
    fs::remove_all(unfinished);
    run(programs_ / "initdb",
        {"-D", unfinished.string(), "-U", "postgres", "-A", "scram-sha-256", "--pwfile=/dev/stdin",
         "-E", "UTF8", "--locale=C", "-k"},
        new_password() + "\n", *log_);
    std::ofstream(unfinished / "postgresql.conf", std::ios::app) << settings;
    std::ofstream(unfinished / "pg_hba.conf", std::ios::trunc) << admission;
    tell(unfinished, "postgres", fmt::format("create role {} login", role));
    tell(unfinished, "postgres", fmt::format("create database {}", role));
    fs::rename(unfinished, data());
  }

  /// Keys, the role's password, and this program's schema.
  void admit() const {
    certified authority{content_of(join() / "root.crt"), content_of(folder_ / "authority.key")};
    if (authority.certificate.empty() || authority.key.empty()) {
      authority = make_authority("headway fleet in " + folder_.string().substr(0, 40));
      put(folder_ / "authority.key", authority.key);
      put(join() / "root.crt", authority.certificate);
    }
    auto const own = sign_server(authority, names_of_this_machine(server_));
    put(data() / "server.key", own.key);
    put(data() / "server.crt", own.certificate);

    auto const before = fmt::format("*:*:*:{}:", role);
    std::string password = content_of(join() / "pgpass");
    password = password.starts_with(before) ? password.substr(before.size()) : "";
    password = trimmed(password, "\n");
    if (password.empty() || !std::ranges::all_of(password, is_alphanumeric)) {
      password = new_password();
      put(join() / "pgpass", before + password + "\n");
    }
    tell(data(), std::string(role),
         postgres::schema_sql() + fmt::format("alter role {0} password '{1}';\n"
                                              "grant headway_worker to {0}",
                                              role, password));
  }

  private_server server_;
  fs::path folder_, programs_;
  std::optional<file> lock_, log_;
};

/// The server's process: it has ended when this has.
class serving {
 public:
  explicit serving(instance const& of)
      : of_(of), id_(of.serve()), end_(static_cast<int>(syscall(SYS_pidfd_open, id_, 0))) {}
  serving(serving const&) = delete;
  serving& operator=(serving const&) = delete;
  ~serving() {
    if (id_ != 0) stop(SIGINT);
    close(end_);
  }

  /// Waits for a signal to us; returns it, or 0 when the time is over. Throws if the server has
  /// ended.
  int wait(signals& ours, int milliseconds) {
    std::array<pollfd, 2> both = {{{end_, POLLIN, 0}, {ours.fd(), POLLIN, 0}}};
    poll(both.data(), both.size(), milliseconds);
    if (both[0].revents != 0) {
      int status = 0;
      waitpid(std::exchange(id_, 0), &status, 0);
      of_.ended(status);
    }
    return ours.take();
  }

  /// Ends it: SIGINT sends clients away first.
  void stop(int how) {
    kill(id_, how);
    waitpid(id_, nullptr, 0);
    id_ = 0;
  }

 private:
  instance const& of_;
  pid_t id_;
  int end_;
};

void explain(instance const& of, private_server const& server) {
  auto const url = url_of(public_name(server), server.listen.port, of.join());
  fmt::print(
      "PostgreSQL at {0}, in {1}; Ctrl-C ends it, the same command starts it again\n"
      "one queue, any number of hosts:  headway run jobs.jsonl --fleet '{2}'\n"
      "one limit, each its own file:    headway run part.jsonl --limit-at '{2}'\n",
      server.listen.text(), of.folder().string(), url);
  if (server.listen.is_loopback())
    fmt::print("this machine only; for others: --listen 0.0.0.0:{}\n", server.listen.port);
  else
    fmt::print("on other hosts the same, with a copy of {} at the same place\n",
               of.join().string());
  std::fflush(stdout);
}

}  // namespace

int up(private_server const& server) {
  if (geteuid() == 0)
    throw fatal(
        exit_usage,
        "PostgreSQL refuses to run as root, since an intruder would have the whole machine: "
        "call fleet up as another user");
  if (server.listen.port == 0) throw fatal(exit_usage, "--listen: want a port from 1 to 65535");
  signals ours;
  instance const it(server);
  serving database(it);
  auto const reached = everywhere(server.listen) ? "127.0.0.1" : server.listen.host;
  postgres::endpoint const where(url_of(reached, server.listen.port, it.join()) +
                                 "&sslmode=verify-full");
  for (auto patience = 100;; --patience) {
    try {
      postgres::connection session(where, {.connect = 2s, .statement = 60s});
      postgres::ensure_schema(session, where);
      break;
    } catch (postgres::error const& e) {
      if (e.kind != postgres::failure::unavailable) {
        database.wait(ours, 1000);  // what answers may be another server, and ours have ended
        throw fatal(exit_io, e.what());
      }
      if (patience == 0) say(e.what());  // and goes on: it may have much to recover from
    }
    if (database.wait(ours, 50) != 0) return exit_ok;
  }
  explain(it, server);
  notify_manager("READY=1");
  while (database.wait(ours, -1) == 0) {
  }
  notify_manager("STOPPING=1");
  database.stop(SIGINT);
  return exit_ok;
}

}  // namespace headway::app
