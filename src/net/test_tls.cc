#include "net/test_tls.h"

#include <openssl/pem.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/ids.h"
#include "net/openssl.h"

namespace agentd::net {

namespace {

constexpr long kDay = 86'400;

void must(bool good) {
  if (!good) throw std::runtime_error("OpenSSL cannot do what a test needs");
}

std::string contents(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

KeyPtr key_of(const TestIdentity& identity) {
  const BioPtr bio(BIO_new_mem_buf(identity.key.data(), static_cast<int>(identity.key.size())));
  return KeyPtr(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
}

CertificatePtr certificate_of(const TestIdentity& identity) {
  const BioPtr bio(BIO_new_mem_buf(identity.certificate.data(), static_cast<int>(identity.certificate.size())));
  return CertificatePtr(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

void add_extension(X509* certificate, int kind, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
  must(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

}  // namespace

TestIdentity make_identity(const std::string& cn, const std::string& names, const TestIdentity* issuer) {
  const KeyPtr key(EVP_EC_gen("P-256"));
  const CertificatePtr made(X509_new());
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(made.get()), std::stoull(random_hex(7), nullptr, 16));
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), kDay);
  X509_set_pubkey(made.get(), key.get());
  X509_NAME* subject = X509_get_subject_name(made.get());
  must(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(cn.data()),
                                  static_cast<int>(cn.size()), -1, 0) == 1);
  add_extension(made.get(), NID_basic_constraints, issuer == nullptr ? "critical,CA:TRUE" : "CA:FALSE");
  if (!names.empty()) add_extension(made.get(), NID_subject_alt_name, names);
  const CertificatePtr above = issuer == nullptr ? nullptr : certificate_of(*issuer);
  const KeyPtr above_key = issuer == nullptr ? nullptr : key_of(*issuer);
  X509_set_issuer_name(made.get(), X509_get_subject_name(above ? above.get() : made.get()));
  must(X509_sign(made.get(), above_key ? above_key.get() : key.get(), EVP_sha256()) > 0);

  const BioPtr certificate_text(BIO_new(BIO_s_mem()));
  const BioPtr key_text(BIO_new(BIO_s_mem()));
  must(PEM_write_bio_X509(certificate_text.get(), made.get()) == 1);
  must(PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return {contents(certificate_text.get()), contents(key_text.get())};
}

TestTlsFiles::TestTlsFiles(bool with_client_ca) {
  files = {.certificate = folder_.path() + "/cert.pem", .key = folder_.path() + "/key.pem", .client_ca = {}};
  write(files.certificate, server.certificate);
  write(files.key, server.key);
  if (!with_client_ca) return;
  files.client_ca = folder_.path() + "/ca.pem";
  write(files.client_ca, authority.certificate);
}

void TestTlsFiles::write(const std::string& file, std::string_view text) {
  std::ofstream(file + ".new") << text;
  std::filesystem::rename(file + ".new", file);
}

struct TestTlsClient::Impl {
  const ContextPtr context{SSL_CTX_new(TLS_client_method())};
  SslPtr ssl;
  // Of ssl.
  BIO* incoming = BIO_new(BIO_s_mem());
  BIO* outgoing = BIO_new(BIO_s_mem());
  bool broken = false;
};

TestTlsClient::TestTlsClient(Options options) : impl_(std::make_unique<Impl>()) {
  if (options.only_1_2) SSL_CTX_set_max_proto_version(impl_->context.get(), TLS1_2_VERSION);
  if (options.shows != nullptr) {
    const CertificatePtr certificate = certificate_of(*options.shows);
    const KeyPtr key = key_of(*options.shows);
    must(SSL_CTX_use_certificate(impl_->context.get(), certificate.get()) == 1);
    must(SSL_CTX_use_PrivateKey(impl_->context.get(), key.get()) == 1);
  }
  impl_->ssl.reset(SSL_new(impl_->context.get()));
  if (!options.protocol.empty()) {
    std::string list(1, static_cast<char>(options.protocol.size()));
    list += options.protocol;
    SSL_set_alpn_protos(impl_->ssl.get(), reinterpret_cast<const unsigned char*>(list.data()),
                        static_cast<unsigned>(list.size()));
  }
  if (options.resumes != nullptr) {
    must(SSL_set_session(impl_->ssl.get(), SSL_get0_session(options.resumes->impl_->ssl.get())) == 1);
  }
  SSL_set_bio(impl_->ssl.get(), impl_->incoming, impl_->outgoing);
  SSL_set_connect_state(impl_->ssl.get());
  SSL_do_handshake(impl_->ssl.get());
}

TestTlsClient::~TestTlsClient() = default;

void TestTlsClient::take(std::string_view bytes, std::string& plain) {
  BIO_write(impl_->incoming, bytes.data(), static_cast<int>(bytes.size()));
  std::array<char, 16384> piece;
  int count = 0;
  while ((count = SSL_read(impl_->ssl.get(), piece.data(), piece.size())) > 0) {
    plain.append(piece.data(), static_cast<std::size_t>(count));
  }
  const int error = SSL_get_error(impl_->ssl.get(), count);
  impl_->broken = impl_->broken || (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_ZERO_RETURN);
}

void TestTlsClient::say(std::string_view plain) {
  if (plain.empty()) return;
  must(SSL_write(impl_->ssl.get(), plain.data(), static_cast<int>(plain.size())) == static_cast<int>(plain.size()));
}

void TestTlsClient::say_end() { SSL_shutdown(impl_->ssl.get()); }

void TestTlsClient::ask_for_new_keys() { must(SSL_key_update(impl_->ssl.get(), SSL_KEY_UPDATE_REQUESTED) == 1); }

void TestTlsClient::renegotiate() {
  must(SSL_renegotiate(impl_->ssl.get()) == 1);
  SSL_do_handshake(impl_->ssl.get());
}

std::string TestTlsClient::outgoing() {
  std::string out = contents(impl_->outgoing);
  BIO_reset(impl_->outgoing);
  return out;
}

bool TestTlsClient::open() const { return SSL_is_init_finished(impl_->ssl.get()) == 1 && !impl_->broken; }

bool TestTlsClient::broken() const { return impl_->broken; }

bool TestTlsClient::resumed() const { return SSL_session_reused(impl_->ssl.get()) == 1; }

bool TestTlsClient::was_told_of_the_end() const {
  return (SSL_get_shutdown(impl_->ssl.get()) & SSL_RECEIVED_SHUTDOWN) != 0 && !impl_->broken;
}

std::string TestTlsClient::protocol() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(impl_->ssl.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

std::string TestTlsClient::server_name() const {
  const X509* shown = SSL_get0_peer_certificate(impl_->ssl.get());
  if (shown == nullptr) return "";
  std::array<char, 256> text{};
  X509_NAME_get_text_by_NID(X509_get_subject_name(shown), NID_commonName, text.data(), text.size());
  return text.data();
}

}  // namespace agentd::net
