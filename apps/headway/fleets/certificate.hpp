/// The certificates of a private server: an authority of its own, and what it signs.
#pragma once

#include <string>
#include <vector>

namespace headway::app {

/// A certificate and its private key, as PEM.
struct certified {
  std::string certificate, key;
};

/// Makes an authority that signs for `name` only in so far as its certificate is given to clients.
/// It is valid for ten years. Errors: std::runtime_error.
certified make_authority(std::string const& name);

/// Makes a certificate of a server that has these host names and addresses, signed by `authority`,
/// as long valid. Errors: std::runtime_error, also where the authority cannot be read.
certified sign_server(certified const& authority, std::vector<std::string> const& names);

}  // namespace headway::app
