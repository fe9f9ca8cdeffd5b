#include "base/sha256.hpp"

#include <openssl/evp.h>

#include <memory>
#include <stdexcept>

namespace headway::app {

std::array<unsigned char, 32> sha256(std::string_view bytes) {
  struct free {
    void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
  };
  // Looking the algorithm up costs more than hashing a line does.
  static EVP_MD const* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  thread_local std::unique_ptr<EVP_MD_CTX, free> const context(EVP_MD_CTX_new());
  std::array<unsigned char, 32> whole;
  if (EVP_DigestInit_ex2(context.get(), algorithm, nullptr) != 1 ||
      EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) != 1 ||
      EVP_DigestFinal_ex(context.get(), whole.data(), nullptr) != 1)
    throw std::runtime_error("OpenSSL cannot compute SHA-256");
  return whole;
}

}  // namespace headway::app
