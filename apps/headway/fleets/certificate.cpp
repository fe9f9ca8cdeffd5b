#include "fleets/certificate.hpp"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include "base/address.hpp"

namespace headway::app {
namespace {

struct release {
  void operator()(BIO* it) const noexcept { BIO_free(it); }
  void operator()(EVP_PKEY* it) const noexcept { EVP_PKEY_free(it); }
  void operator()(X509* it) const noexcept { X509_free(it); }
  void operator()(X509_EXTENSION* it) const noexcept { X509_EXTENSION_free(it); }
};
template <class T>
using owned = std::unique_ptr<T, release>;

void require(bool done) {
  if (!done) throw std::runtime_error("OpenSSL makes no certificate here");
}

constexpr long validity = 10L * 365 * 24 * 3600;  // seconds
constexpr long clock_skew = 24L * 3600;           // of the hosts that verify it

std::string pem(auto write) {
  owned<BIO> const out(BIO_new(BIO_s_mem()));
  require(out && write(out.get()));
  char* text = nullptr;
  auto const size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

owned<BIO> reader(std::string const& text) {
  return owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

void extend(X509* certificate, X509* issuer, int what, std::string const& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  owned<X509_EXTENSION> const extension(
      X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str()));
  require(extension && X509_add_ext(certificate, extension.get(), -1) == 1);
}

/// Without extensions and not signed; its subject is `name`.
owned<X509> begin(std::string const& name, EVP_PKEY* key) {
  owned<X509> out(X509_new());
  require(static_cast<bool>(out));
  std::array<unsigned char, 8> serial{};
  require(RAND_bytes(serial.data(), static_cast<int>(serial.size())) == 1);
  std::uint64_t number = 0;
  for (auto const byte : serial) number = number << 8 | byte;
  auto* const subject = X509_get_subject_name(out.get());
  auto const* const text = reinterpret_cast<unsigned char const*>(name.data());
  require(X509_set_version(out.get(), 2) == 1 &&
          ASN1_INTEGER_set_uint64(X509_get_serialNumber(out.get()), number >> 1) == 1 &&
          X509_gmtime_adj(X509_getm_notBefore(out.get()), -clock_skew) != nullptr &&
          X509_gmtime_adj(X509_getm_notAfter(out.get()), validity) != nullptr &&
          X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, text,
                                     static_cast<int>(name.size()), -1, 0) == 1 &&
          X509_set_pubkey(out.get(), key) == 1);
  return out;
}

certified signed_by(EVP_PKEY* authority, X509* certificate, EVP_PKEY* key) {
  require(X509_sign(certificate, authority, EVP_sha256()) > 0);
  return {pem([&](BIO* out) { return PEM_write_bio_X509(out, certificate) == 1; }),
          pem([&](BIO* out) {
            return PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr) == 1;
          })};
}

}  // namespace

certified make_authority(std::string const& name) {
  owned<EVP_PKEY> const key(EVP_EC_gen("P-256"));
  require(static_cast<bool>(key));
  auto const it = begin(name, key.get());
  require(X509_set_issuer_name(it.get(), X509_get_subject_name(it.get())) == 1);
  extend(it.get(), it.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  extend(it.get(), it.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
  extend(it.get(), it.get(), NID_subject_key_identifier, "hash");
  return signed_by(key.get(), it.get(), key.get());
}

certified sign_server(certified const& authority, std::vector<std::string> const& names) {
  owned<X509> const issuer(
      PEM_read_bio_X509(reader(authority.certificate).get(), nullptr, nullptr, nullptr));
  owned<EVP_PKEY> const by(
      PEM_read_bio_PrivateKey(reader(authority.key).get(), nullptr, nullptr, nullptr));
  if (!issuer || !by) throw std::runtime_error("its authority cannot be read");
  owned<EVP_PKEY> const key(EVP_EC_gen("P-256"));
  require(key && !names.empty());
  auto const it = begin("headway fleet", key.get());
  require(X509_set_issuer_name(it.get(), X509_get_subject_name(issuer.get())) == 1);
  std::string alternatives;
  for (auto const& name : names)
    alternatives +=
        (alternatives.empty() ? "" : ",") + std::string(is_address(name) ? "IP:" : "DNS:") + name;
  extend(it.get(), issuer.get(), NID_subject_alt_name, alternatives);
  extend(it.get(), issuer.get(), NID_basic_constraints, "critical,CA:FALSE");
  extend(it.get(), issuer.get(), NID_key_usage, "critical,digitalSignature");
  extend(it.get(), issuer.get(), NID_ext_key_usage, "serverAuth");
  return signed_by(by.get(), it.get(), key.get());
}

}  // namespace headway::app
