// Credentials: the tokens that `agentd login` was given, or a launch (launch.h), one for each daemon, in a file of the user's own.
//
//   {"https://agent.example": {"access_token": "…"}, "http://127.0.0.1:8420": {"access_token": "…", "launch": true}, …}
//
// The file is 0600 in a folder 0700, and replaced as a whole, so that a reader and a crash find the old one or the new one.
// Writers of several processes take turns by a lock on the folder. A file that others may read is refused, not read: what it
// holds may be known to them already. Thread-safe: nothing is kept in memory. No token stands in an error message.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace agentd::client {

// agentd/credentials.json in $XDG_CONFIG_HOME or ~/.config; "" when the environment has neither.
[[nodiscard]] std::string credentials_path();

struct KeptToken {
  std::string token;    // "" = none
  bool launch = false;  // of a launch, not of a login
};

class Credentials final {
 public:
  // `path` "": there are none, and none can be kept.
  explicit Credentials(std::string path) : path_(std::move(path)) {}

  // A URL is taken in any spelling. Errors: kConfig (the file or the URL, and what to do), kInternal (the disk).
  [[nodiscard]] Result<KeptToken> find(const std::string& url) const;
  [[nodiscard]] Status keep(const std::string& url, const std::string& token) const;
  // Does nothing when the token of a login is kept for the URL.
  [[nodiscard]] Status keep_launch(const std::string& url, const std::string& token) const;
  [[nodiscard]] Status forget(const std::string& url) const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] Result<Json> read() const;
  [[nodiscard]] Status change(const std::string& url, const KeptToken& to) const;

  std::string path_;
};

}  // namespace agentd::client
