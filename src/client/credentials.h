// Credentials: the tokens that `agentd login` was given, one for each daemon, in a file of the user's own.
//
//   {"http://127.0.0.1:8420": {"access_token": "…"}, …}
//
// The file is 0600 in a folder 0700, and replaced as a whole, so that a reader and a crash find the old one or the new one.
// Writers of several processes take turns by a lock on the folder. A file that others may read is refused, not read: what it
// holds may be known to them already. Thread-safe: nothing is kept in memory. No token stands in an error message.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "client/rpc.h"

namespace agentd::client {

// agentd/credentials.json in $XDG_CONFIG_HOME or ~/.config; "" when the environment has neither.
[[nodiscard]] std::string credentials_path();

class Credentials final {
 public:
  // `path` "": there are none, and none can be kept.
  explicit Credentials(std::string path) : path_(std::move(path)) {}

  // A URL is taken in any spelling. Errors: kConfig (the file or the URL, and what to do), kInternal (the disk).
  [[nodiscard]] Result<std::string> find(const std::string& url) const;  // "" = none
  [[nodiscard]] Status keep(const std::string& url, const std::string& token) const;
  [[nodiscard]] Status forget(const std::string& url) const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] Result<Json> read() const;
  [[nodiscard]] Status change(const std::string& url, const std::string& token) const;

  std::string path_;
};

// What was asked for, with the token that is kept for its URL where it has none. Errors: as those of find().
[[nodiscard]] Result<Endpoint> endpoint_of(Endpoint asked, const Credentials& credentials);

}  // namespace agentd::client
