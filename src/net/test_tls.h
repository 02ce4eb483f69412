// What the tests of TLS have in common: throw-away certificates, and a client's end of TLS without a socket.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/temporary_folder.h"
#include "net/tls.h"

namespace agentd::net {

struct TestIdentity {
  std::string certificate;  // PEM
  std::string key;          // PEM
};

// `names` as in "DNS:localhost,URI:spiffe://a". Signed by `issuer`, or by itself and then a CA.
[[nodiscard]] TestIdentity make_identity(const std::string& cn, const std::string& names = "",
                                         const TestIdentity* issuer = nullptr);

// A folder with the files of a server, removed with this.
class TestTlsFiles final {
 public:
  explicit TestTlsFiles(bool with_client_ca = false);

  void write(const std::string& file, std::string_view text);  // one of `files`

  const TestIdentity authority = make_identity("test-ca");
  const TestIdentity server = make_identity("server", "DNS:localhost", &authority);
  TlsFiles files;

 private:
  const TemporaryFolder folder_;
};

class TestTlsClient final {
 public:
  struct Options {
    const TestIdentity* shows = nullptr;
    std::string protocol = {};  // asked for by ALPN
    bool only_1_2 = false;
    const TestTlsClient* resumes = nullptr;  // whose session, if the server lets it
  };
  explicit TestTlsClient(Options options);
  TestTlsClient() : TestTlsClient(Options{}) {}
  ~TestTlsClient();

  // Takes what the server sent; what it says is appended to `plain`.
  void take(std::string_view bytes, std::string& plain);
  void say(std::string_view plain);
  void say_end();
  void ask_for_new_keys();               // TLS 1.3; done with the next say()
  void renegotiate();                    // TLS 1.2; the server will have none of it
  [[nodiscard]] std::string outgoing();  // for the server; gone from here

  [[nodiscard]] bool open() const;
  [[nodiscard]] bool broken() const;
  [[nodiscard]] bool resumed() const;
  [[nodiscard]] bool was_told_of_the_end() const;
  [[nodiscard]] std::string protocol() const;
  [[nodiscard]] std::string server_name() const;  // the CN of its certificate

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace agentd::net
