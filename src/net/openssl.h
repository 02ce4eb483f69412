// Owners of what OpenSSL makes.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>

namespace agentd::net {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* thing) const {
    Free(thing);
  }
};

using BioPtr = std::unique_ptr<BIO, Freed<BIO_free>>;
using CertificatePtr = std::unique_ptr<X509, Freed<X509_free>>;
using ContextPtr = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES_free>>;
using SslPtr = std::unique_ptr<SSL, Freed<SSL_free>>;

}  // namespace agentd::net
