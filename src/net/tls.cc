#include "net/tls.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "net/openssl.h"

namespace agentd::net {

namespace {

constexpr std::int64_t kLookMs = 1'000;
// For 1.2. With 1.3 there are only good ones.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr std::array<unsigned char, 9> kHttp11 = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
constexpr std::array<unsigned char, 6> kSessions = {'a', 'g', 'e', 'n', 't', 'd'};
// A peer that does not read, and makes us answer all the same, does not get further than this.
constexpr std::size_t kMostOutgoing = 2 * TlsStream::kMost;

// Of a name in a certificate: what is no plain text names nobody.
std::string name_text(const ASN1_STRING* name) {
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, name);
  if (size < 0) return "";
  std::string text(reinterpret_cast<char*>(utf8), static_cast<std::size_t>(size));
  OPENSSL_free(utf8);
  const bool plain = std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  return plain ? text : "";
}

std::string common_name(X509* certificate) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0) return "";
  return name_text(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

std::vector<std::string> alternative_names(X509* certificate) {
  std::vector<std::string> out;
  const NamesPtr names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    int type = 0;
    const auto* value = static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(name, &type));
    if (type != GEN_DNS && type != GEN_URI && type != GEN_EMAIL) continue;
    if (std::string text = name_text(value); !text.empty()) out.push_back(std::move(text));
  }
  return out;
}

std::shared_ptr<const Certificate> certificate_of(const SSL* ssl) {
  X509* shown = SSL_get0_peer_certificate(ssl);
  if (shown == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) return nullptr;
  return std::make_shared<const Certificate>(Certificate{common_name(shown), alternative_names(shown)});
}

// ---- A BIO of two strings: reads from one, writes to the other.

struct Ends {
  std::string_view incoming;  // during unseal()
  std::string outgoing;
  std::size_t sent = 0;  // of outgoing, which is emptied when all is
};

Ends& ends_of(BIO* bio) { return *static_cast<Ends*>(BIO_get_data(bio)); }

int read_end(BIO* bio, char* out, int size) {
  BIO_clear_retry_flags(bio);
  std::string_view& incoming = ends_of(bio).incoming;
  if (incoming.empty()) {
    BIO_set_retry_read(bio);
    return -1;
  }
  const auto count = incoming.copy(out, static_cast<std::size_t>(size));
  incoming.remove_prefix(count);
  return static_cast<int>(count);
}

int write_end(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  ends_of(bio).outgoing.append(data, static_cast<std::size_t>(size));
  return size;
}

long control_end(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* ends_method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "agentd");
    AGENTD_CHECK(made != nullptr, "OpenSSL is out of memory");
    BIO_meth_set_read(made, read_end);
    BIO_meth_set_write(made, write_end);
    BIO_meth_set_ctrl(made, control_end);
    return made;
  }();
  return method;
}

// ---- A context from files.

std::unexpected<Error> bad_file(const std::string& file, std::string_view what) {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  if (reason == nullptr) return fail(Code::kConfig, fmt::format("{}: {}", file, what));
  return fail(Code::kConfig, fmt::format("{}: {} ({})", file, what, reason));
}

Status check_readable(const std::string& file) {
  const Descriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd) return {};
  return fail(Code::kConfig, fmt::format("{}: cannot be read: {}", file, ::strerrordesc_np(errno)));
}

// A daemon has nobody to ask.
int no_passphrase(char*, int, int, void*) { return -1; }

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                    unsigned offered_size, void*) {
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, kHttp11.data(), kHttp11.size(), offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

ContextPtr empty_context() {
  ContextPtr context(SSL_CTX_new(TLS_server_method()));
  AGENTD_CHECK(context, "OpenSSL makes no context");
  SSL_CTX* raw = context.get();
  const bool made = SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION) == 1 &&
                    SSL_CTX_set_cipher_list(raw, kCiphers) == 1 &&
                    SSL_CTX_set_session_id_context(raw, kSessions.data(), kSessions.size()) == 1;
  AGENTD_CHECK(made, "OpenSSL has no TLS 1.2 with ephemeral keys");
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);  // tickets resume, and cost no memory
  SSL_CTX_set_default_passwd_cb(raw, no_passphrase);
  SSL_CTX_set_alpn_select_cb(raw, choose_protocol, nullptr);
  return context;
}

Status load_key(SSL_CTX* context, const TlsFiles& files) {
  const BioPtr bio(BIO_new_file(files.key.c_str(), "r"));
  const KeyPtr key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr) : nullptr);
  if (!key) return bad_file(files.key, "holds no private key in PEM without a passphrase");
  if (X509_check_private_key(SSL_CTX_get0_certificate(context), key.get()) != 1) {
    ERR_clear_error();
    return fail(Code::kConfig,
                fmt::format("{}: this key is not that of the certificate in {}", files.key, files.certificate));
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) return bad_file(files.key, "holds a key that cannot be used");
  return {};
}

Status load_client_ca(SSL_CTX* context, const std::string& file) {
  STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(file.c_str());
  if (names == nullptr || SSL_CTX_load_verify_file(context, file.c_str()) != 1) {
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    return bad_file(file, "holds no certificate of a client CA in PEM");
  }
  SSL_CTX_set_client_CA_list(context, names);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  // One that is resumed is not verified again, and would outlive its certificate.
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
  return {};
}

Result<ContextPtr> load_context(const TlsFiles& files) {
  ERR_clear_error();
  for (const std::string& file : {files.certificate, files.key, files.client_ca}) {
    if (file.empty()) continue;
    if (const Status readable = check_readable(file); !readable) return std::unexpected(readable.error());
  }
  ContextPtr context = empty_context();
  if (SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()) != 1) {
    return bad_file(files.certificate, "holds no certificate in PEM that can be used");
  }
  if (const Status key = load_key(context.get(), files); !key) return std::unexpected(key.error());
  if (!files.client_ca.empty()) {
    if (const Status ca = load_client_ca(context.get(), files.client_ca); !ca) return std::unexpected(ca.error());
  }
  return context;
}

// What changes when a file is replaced or written.
struct Stamp {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  std::int64_t changed_s = 0;
  std::int64_t changed_ns = 0;

  bool operator==(const Stamp&) const = default;
};
using Stamps = std::array<Stamp, 3>;

Stamp stamp_of(const std::string& file) {
  struct stat there{};
  if (file.empty() || ::stat(file.c_str(), &there) != 0) return {};
  return {there.st_dev, there.st_ino, there.st_size, there.st_mtim.tv_sec, there.st_mtim.tv_nsec};
}

Stamps stamps_of(const TlsFiles& files) {
  return {stamp_of(files.certificate), stamp_of(files.key), stamp_of(files.client_ca)};
}

}  // namespace

struct TlsStream::Impl {
  explicit Impl(SSL_CTX* context) : ssl(SSL_new(context)) {
    BIO* bio = BIO_new(ends_method());
    AGENTD_CHECK(ssl && bio != nullptr, "OpenSSL is out of memory");
    BIO_set_data(bio, &ends);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl.get(), bio, bio);
    SSL_set_accept_state(ssl.get());
  }

  // The result of a call that did not succeed: whether it only needs more bytes.
  bool needs_more(int result) {
    switch (SSL_get_error(ssl.get(), result)) {
      case SSL_ERROR_WANT_READ: return true;
      case SSL_ERROR_ZERO_RETURN: state = State::kEnded; return false;
      default: state = State::kBroken; return false;
    }
  }

  void shake_hands() {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl.get());
    if (result != 1) {
      needs_more(result);
      return;
    }
    state = State::kOpen;
    certificate = certificate_of(ssl.get());
  }

  void read(std::string& plain) {
    std::array<char, SSL3_RT_MAX_PLAIN_LENGTH> record;
    for (;;) {
      ERR_clear_error();
      const int count = SSL_read(ssl.get(), record.data(), record.size());
      if (count <= 0) {
        needs_more(count);
        return;
      }
      plain.append(record.data(), static_cast<std::size_t>(count));
    }
  }

  bool write(std::string_view record) {
    ERR_clear_error();
    const int size = static_cast<int>(record.size());
    if (size == 0 || SSL_write(ssl.get(), record.data(), size) == size) return true;
    state = State::kBroken;
    return false;
  }

  Ends ends;
  SslPtr ssl;
  std::shared_ptr<const Certificate> certificate;
  State state = State::kHandshake;
};

TlsStream::TlsStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsStream::~TlsStream() = default;

void TlsStream::unseal(std::string_view bytes, std::string& plain) {
  impl_->ends.incoming = bytes;
  if (impl_->state == State::kHandshake) impl_->shake_hands();
  if (impl_->state == State::kOpen) impl_->read(plain);
  impl_->ends.incoming = {};
  if (impl_->ends.outgoing.size() > kMostOutgoing) impl_->state = State::kBroken;
}

std::size_t TlsStream::seal(std::span<const iovec> pieces) {
  if (impl_->state != State::kOpen && impl_->state != State::kEnded) return 0;
  // Side by side, so that a record is full: each costs a header, a tag and a call.
  std::array<char, SSL3_RT_MAX_PLAIN_LENGTH> record;
  std::size_t used = 0;
  std::size_t taken = 0;
  for (const iovec& piece : pieces) {
    std::string_view rest(static_cast<const char*>(piece.iov_base), piece.iov_len);
    rest = rest.substr(0, kMost - taken);
    taken += rest.size();
    while (!rest.empty()) {
      const auto count = rest.copy(record.data() + used, record.size() - used);
      rest.remove_prefix(count);
      used += count;
      if (used == record.size() && !impl_->write({record.data(), std::exchange(used, 0)})) return 0;
    }
  }
  return impl_->write({record.data(), used}) ? taken : 0;
}

bool TlsStream::finish() {
  if (impl_->state != State::kOpen && impl_->state != State::kEnded) return false;
  if ((static_cast<unsigned>(SSL_get_shutdown(impl_->ssl.get())) & SSL_SENT_SHUTDOWN) != 0) return false;
  ERR_clear_error();
  return SSL_shutdown(impl_->ssl.get()) >= 0;
}

TlsStream::State TlsStream::state() const { return impl_->state; }

std::string_view TlsStream::outgoing() const { return std::string_view(impl_->ends.outgoing).substr(impl_->ends.sent); }

void TlsStream::sent(std::size_t bytes) {
  Ends& ends = impl_->ends;
  ends.sent += bytes;
  if (ends.sent < ends.outgoing.size()) return;
  ends.sent = 0;
  std::string().swap(ends.outgoing);
}

std::shared_ptr<const Certificate> TlsStream::certificate() const { return impl_->certificate; }

struct TlsContext::Impl {
  void look() {
    const std::int64_t now = clock.mono_ms();
    if (now < next_look_ms) return;
    next_look_ms = now + kLookMs;
    // Before they are read: what changes meanwhile is seen the next time.
    const Stamps stamps = stamps_of(files);
    if (std::exchange(seen, stamps) == stamps) return;
    auto fresh = load_context(files);
    if (!fresh) {
      return log::error("the TLS files changed and cannot be used; what was in use stays",
                        {{"reason", fresh.error().message}});
    }
    context = *std::move(fresh);
    log::info("the TLS files changed and are in use", {{"certificate", files.certificate}});
  }

  TlsFiles files;
  const Clock& clock;
  ContextPtr context;
  Stamps seen;
  std::int64_t next_look_ms;
};

TlsContext::TlsContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsContext::~TlsContext() = default;

Result<std::shared_ptr<TlsContext>> TlsContext::load(TlsFiles files, const Clock& clock) {
  const Stamps stamps = stamps_of(files);
  auto context = load_context(files);
  if (!context) return std::unexpected(context.error());
  return std::shared_ptr<TlsContext>(new TlsContext(
      std::make_unique<Impl>(Impl{std::move(files), clock, *std::move(context), stamps, clock.mono_ms() + kLookMs})));
}

std::unique_ptr<TlsStream> TlsContext::accept() {
  impl_->look();
  return std::unique_ptr<TlsStream>(new TlsStream(std::make_unique<TlsStream::Impl>(impl_->context.get())));
}

}  // namespace agentd::net
