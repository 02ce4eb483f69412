#include "net/tls.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "net/test_tls.h"

namespace agentd::net {
namespace {

using State = TlsStream::State;

std::shared_ptr<TlsContext> load(const TlsFiles& files, const Clock& clock) {
  auto context = TlsContext::load(files, clock);
  EXPECT_TRUE(context.has_value()) << context.error().message;
  return *std::move(context);
}

// A server's and a client's end, and the bytes between them.
struct Talk {
  explicit Talk(std::unique_ptr<TlsStream> stream, TestTlsClient::Options options = {})
      : server(std::move(stream)), client(options) {
    exchange();
  }

  // Until neither has anything to say.
  void exchange() {
    for (;;) {
      const std::string to_server = client.outgoing();
      if (!to_server.empty()) server->unseal(to_server, heard_by_server);
      const std::string to_client(server->outgoing());
      server->sent(to_client.size());
      if (!to_client.empty()) client.take(to_client, heard_by_client);
      if (to_server.empty() && to_client.empty()) return;
    }
  }
  std::size_t seal(std::string_view text) const {
    const iovec piece{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
    return server->seal({&piece, 1});
  }

  std::unique_ptr<TlsStream> server;
  TestTlsClient client;
  std::string heard_by_server;
  std::string heard_by_client;
};

class Tls : public testing::Test {
 protected:
  ManualClock clock_;
};

TEST_F(Tls, CarriesBytesBothWaysWhateverTheirPieces) {
  TestTlsFiles files;
  const auto context = load(files.files, clock_);
  for (const bool only_1_2 : {false, true}) {
    Talk talk(context->accept(), {.only_1_2 = only_1_2});
    ASSERT_EQ(talk.server->state(), State::kOpen);
    EXPECT_EQ(talk.client.server_name(), "server");
    EXPECT_EQ(talk.server->certificate(), nullptr);
    talk.client.say(std::string(40'000, 'c'));
    const std::string sealed = talk.client.outgoing();
    for (const char byte : sealed) talk.server->unseal({&byte, 1}, talk.heard_by_server);
    EXPECT_EQ(talk.heard_by_server, std::string(40'000, 'c'));

    std::vector<std::string> texts;
    std::vector<iovec> pieces;
    std::string all;
    for (std::size_t i = 0; i < 40; ++i) texts.emplace_back(i * 50, static_cast<char>('a' + i % 26));
    for (std::string& text : texts) {
      pieces.push_back({.iov_base = text.data(), .iov_len = text.size()});
      all += text;
    }
    EXPECT_EQ(talk.server->seal(pieces), all.size());
    talk.exchange();
    EXPECT_EQ(talk.heard_by_client, all);
  }
}

TEST_F(Tls, TakesABoundedAmountAtOnce) {
  TestTlsFiles files;
  Talk talk(load(files.files, clock_)->accept());
  EXPECT_EQ(talk.seal(std::string(TlsStream::kMost + 1, 'x')), TlsStream::kMost);
  EXPECT_LT(talk.server->outgoing().size(), TlsStream::kMost + 1024);
  talk.exchange();
  EXPECT_EQ(talk.heard_by_client.size(), TlsStream::kMost);
}

TEST_F(Tls, SealsNothingBeforeTheHandshakeOrAfterTheFarewell) {
  TestTlsFiles files;
  const auto context = load(files.files, clock_);
  const auto stream = context->accept();
  const iovec piece{.iov_base = const_cast<char*>("x"), .iov_len = 1};
  EXPECT_EQ(stream->seal({&piece, 1}), 0U);
  EXPECT_FALSE(stream->finish());
  EXPECT_TRUE(stream->outgoing().empty());

  Talk talk(context->accept());
  EXPECT_TRUE(talk.server->finish());
  EXPECT_FALSE(talk.server->finish());
  talk.exchange();
  EXPECT_TRUE(talk.client.was_told_of_the_end());
}

TEST_F(Tls, HearsTheFarewellAndMayStillSpeak) {
  TestTlsFiles files;
  Talk talk(load(files.files, clock_)->accept());
  talk.client.say("last words");
  talk.client.say_end();
  talk.exchange();
  EXPECT_EQ(talk.heard_by_server, "last words");
  EXPECT_EQ(talk.server->state(), State::kEnded);
  EXPECT_EQ(talk.seal("an answer"), 9U);
}

TEST_F(Tls, BreaksOnWhatIsNoHandshakeAndOnAForgedRecord) {
  TestTlsFiles files;
  const auto context = load(files.files, clock_);
  std::string plain;
  const auto stream = context->accept();
  stream->unseal("GET / HTTP/1.1\r\nHost: a\r\n\r\n", plain);
  EXPECT_EQ(stream->state(), State::kBroken);

  Talk talk(context->accept());
  talk.client.say("secret");
  std::string forged = talk.client.outgoing();
  forged.back() = static_cast<char>(forged.back() ^ 1);
  talk.server->unseal(forged, plain);
  EXPECT_EQ(talk.server->state(), State::kBroken);
  EXPECT_FALSE(talk.server->outgoing().empty());  // the alert
  EXPECT_EQ(plain, "");
  EXPECT_FALSE(talk.server->finish());
}

TEST_F(Tls, SpeaksHttp11Only) {
  TestTlsFiles files;
  const auto context = load(files.files, clock_);
  EXPECT_EQ(Talk(context->accept(), {.protocol = "http/1.1"}).client.protocol(), "http/1.1");
  EXPECT_EQ(Talk(context->accept(), {.protocol = "h2"}).server->state(), State::kBroken);
}

TEST_F(Tls, TellsWhatAVerifiedCertificateSays) {
  TestTlsFiles files(true);
  const auto context = load(files.files, clock_);
  const auto shown = make_identity("alice", "DNS:a.example,URI:spiffe://team/alice,email:alice@a.example,IP:192.0.2.1",
                                   &files.authority);
  for (const bool only_1_2 : {false, true}) {
    const Talk talk(context->accept(), {.shows = &shown, .only_1_2 = only_1_2});
    ASSERT_EQ(talk.server->state(), State::kOpen);
    const auto certificate = talk.server->certificate();
    ASSERT_NE(certificate, nullptr);
    EXPECT_EQ(certificate->cn, "alice");
    EXPECT_EQ(certificate->sans, (std::vector<std::string>{"a.example", "spiffe://team/alice", "alice@a.example"}));
  }
  EXPECT_EQ(Talk(context->accept()).server->certificate(), nullptr);
  const auto odd = make_identity("a\nb", "", &files.authority);
  EXPECT_EQ(Talk(context->accept(), {.shows = &odd}).server->certificate()->cn, "");
}

TEST_F(Tls, ResumesASessionUnlessCertificatesOfClientsAreLookedAt) {
  TestTlsFiles plain;
  TestTlsFiles with_ca(true);
  const auto shown = make_identity("alice", "", &with_ca.authority);
  for (const bool only_1_2 : {false, true}) {
    const auto anybody = load(plain.files, clock_);
    const Talk first(anybody->accept(), {.only_1_2 = only_1_2});
    const Talk again(anybody->accept(), {.only_1_2 = only_1_2, .resumes = &first.client});
    EXPECT_EQ(again.server->state(), State::kOpen);
    EXPECT_TRUE(again.client.resumed());

    const auto known = load(with_ca.files, clock_);
    const Talk alice(known->accept(), {.shows = &shown, .only_1_2 = only_1_2});
    const Talk anew(known->accept(), {.shows = &shown, .only_1_2 = only_1_2, .resumes = &alice.client});
    EXPECT_FALSE(anew.client.resumed());
    ASSERT_NE(anew.server->certificate(), nullptr);
    EXPECT_EQ(anew.server->certificate()->cn, "alice");
    const Talk nobody(known->accept(), {.only_1_2 = only_1_2, .resumes = &alice.client});
    EXPECT_EQ(nobody.server->state(), State::kOpen);
    EXPECT_EQ(nobody.server->certificate(), nullptr) << "who shows none is not whom the session was of";
  }
}

TEST_F(Tls, IsNotMadeToSpeakByAPeerThatAsksForNewKeys) {
  TestTlsFiles files;
  Talk talk(load(files.files, clock_)->accept());
  talk.client.ask_for_new_keys();
  talk.client.say("x");
  talk.server->unseal(talk.client.outgoing(), talk.heard_by_server);
  EXPECT_EQ(talk.heard_by_server, "x");
  EXPECT_EQ(talk.server->outgoing(), "") << "it gets them with the next answer";
  talk.seal("an answer");
  talk.exchange();
  EXPECT_EQ(talk.heard_by_client, "an answer");
}

TEST_F(Tls, RefusesACertificateOfAnotherCa) {
  TestTlsFiles files(true);
  const auto context = load(files.files, clock_);
  const auto stranger_ca = make_identity("test-ca");  // in name
  const auto stranger = make_identity("mallory", "", &stranger_ca);
  for (const auto* shown : {&stranger, &stranger_ca}) {
    for (const bool only_1_2 : {false, true}) {
      const Talk talk(context->accept(), {.shows = shown, .only_1_2 = only_1_2});
      EXPECT_EQ(talk.server->state(), State::kBroken);
      EXPECT_EQ(talk.server->certificate(), nullptr);
      EXPECT_TRUE(talk.client.broken());
    }
  }
}

TEST_F(Tls, LooksAtItsFilesOnceASecondAndKeepsWhatWorks) {
  TestTlsFiles files;
  const auto context = load(files.files, clock_);
  const auto name = [&] { return Talk(context->accept()).client.server_name(); };
  const auto next = make_identity("next", "", &files.authority);

  files.write(files.files.certificate, next.certificate);
  clock_.advance_ms(1'000);
  EXPECT_EQ(name(), "server") << "the key is still the old one's";
  files.write(files.files.key, next.key);
  clock_.advance_ms(999);
  EXPECT_EQ(name(), "server") << "it is too early to look";
  const auto old = context->accept();
  clock_.advance_ms(1);
  EXPECT_EQ(name(), "next");

  std::filesystem::remove(files.files.key);
  clock_.advance_ms(1'000);
  EXPECT_EQ(name(), "next");
}

TEST_F(Tls, SaysWhatIsWrongWithItsFiles) {
  TestTlsFiles files(true);
  const auto complaint = [&](const TlsFiles& bad) {
    const auto context = TlsContext::load(bad, clock_);
    EXPECT_FALSE(context.has_value());
    if (!context) EXPECT_EQ(context.error().code, Code::kConfig);
    return context ? "" : context.error().message;
  };
  TlsFiles bad = files.files;
  bad.certificate = "/nowhere.pem";
  EXPECT_EQ(complaint(bad), "/nowhere.pem: cannot be read: No such file or directory");
  bad = files.files;
  bad.certificate = files.files.key;
  EXPECT_TRUE(complaint(bad).starts_with(files.files.key + ": holds no certificate in PEM that can be used"));
  bad = files.files;
  bad.key = files.files.certificate;
  EXPECT_TRUE(complaint(bad).starts_with(bad.key + ": holds no private key in PEM"));
  bad = files.files;
  bad.client_ca = files.files.key;
  EXPECT_TRUE(complaint(bad).starts_with(bad.client_ca + ": holds no certificate of a client CA"));
  files.write(files.files.key, files.authority.key);
  EXPECT_EQ(complaint(files.files),
            files.files.key + ": this key is not that of the certificate in " + files.files.certificate);
}

TEST_F(Tls, BreaksRatherThanAnswersWithoutEndAPeerThatDoesNotRead) {
  TestTlsFiles files;
  Talk talk(load(files.files, clock_)->accept());
  // Nobody takes what is sealed.
  ASSERT_EQ(talk.seal(std::string(TlsStream::kMost, 'x')), TlsStream::kMost);
  ASSERT_EQ(talk.seal(std::string(TlsStream::kMost, 'x')), TlsStream::kMost);
  talk.client.say("anything");
  talk.server->unseal(talk.client.outgoing(), talk.heard_by_server);
  EXPECT_EQ(talk.server->state(), State::kBroken);
}

}  // namespace
}  // namespace agentd::net
