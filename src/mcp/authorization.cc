#include "mcp/authorization.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "base/clock.h"
#include "base/ids.h"
#include "base/log.h"
#include "mcp/assertion.h"
#include "mcp/fields.h"

namespace agentd::mcp {
namespace {

constexpr std::uint64_t kAnswerBytes = 256U << 10U;
constexpr std::size_t kMostAsked = 16;
constexpr char kNarrow[] = "insufficient_scope";
constexpr char kBasic[] = "client_secret_basic";
constexpr char kPost[] = "client_secret_post";
constexpr char kAssertion[] = "private_key_jwt";
constexpr char kAssertionType[] = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
constexpr char kNone[] = "none";

std::vector<std::string> texts_at(const Json& object, const char* name) {
  std::vector<std::string> out;
  for (const Json& text : object.value(name, Json::array())) {
    if (text.is_string()) out.push_back(text);
  }
  return out;
}

std::string value_of(const http::Query& fields, std::string_view name) {
  const auto at = std::ranges::find(fields, name, &std::pair<std::string, std::string>::first);
  return at == fields.end() ? "" : at->second;
}

bool has(const std::vector<std::string>& list, const std::string& text) {
  return std::ranges::find(list, text) != list.end();
}

std::set<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

// By what the authorization server lets clients show who they are.
std::string method_for(const std::vector<std::string>& methods, bool has_secret) {
  if (!has_secret) return kNone;
  return methods.empty() || has(methods, kBasic) ? kBasic : kPost;
}

std::string error_in(int status, const Json& answer) {
  const std::string error = text_field(answer, "error");
  if (error.empty()) return status == 0 ? "nobody answers there" : fmt::format("HTTP {}", status);
  const std::string more = text_field(answer, "error_description");
  return more.empty() ? cut_text(error, 200) : cut_text(fmt::format("{}: {}", error, more), 500);
}

}  // namespace

struct Authorization::Fetch {
  http::Transfer transfer;
  int status = 0;
  std::string body;
};

Authorization::Authorization(http::Client& client, config::McpServer config, SignIn sign_in,
                             std::function<void()> changed)
    : client_(client), config_(std::move(config)), sign_in_(std::move(sign_in)), changed_(std::move(changed)) {
  load(sign_in_.kept);
}
Authorization::~Authorization() = default;

// ---- Requests

http::OutboundRequest Authorization::request_to(const std::string& url) const {
  const bool own = host_of(url) == host_of(config_.url);
  return {.method = "GET",
          .url = url,
          .headers = {{"Accept", "application/json"}},
          .reach = own ? http::Reach::kAnywhere : http::Reach::kPublic,
          .most_bytes = kAnswerBytes,
          .deadlines = {.first_byte_ms = 20'000, .silence_ms = 20'000, .total_ms = 30'000}};
}

void Authorization::fetch(http::OutboundRequest request, Answered answered) {
  const std::uint64_t number = ++last_fetch_;
  auto& known = *fetches_.emplace(number, std::make_unique<Fetch>()).first->second;
  known.transfer = client_.start(
      std::move(request), {.head = [&known](const http::ResponseHead& head) { known.status = head.status; },
                           .body = [&known](std::string_view piece) { known.body += piece; },
                           .done =
                               [this, number, answered = std::move(answered)](const Status& status) {
                                 // Its transfer is what calls us: it lives until we are done.
                                 const auto fetch = std::move(fetches_.extract(number).mapped());
                                 const auto object = parse_json(fetch->body, {.bytes = kAnswerBytes});
                                 answered(status ? fetch->status : 0, object && object->is_object() ? *object : Json());
                               }});
}

// The first of them that is an object, or null.
void Authorization::first_of(std::vector<std::string> urls, std::function<void(Json)> found) {
  if (urls.empty()) return found(nullptr);
  const std::string url = urls.front();
  urls.erase(urls.begin());
  auto next = [this, urls = std::move(urls), found](int status, const Json& answer) {
    status == 200 && answer.is_object() ? found(answer) : first_of(urls, found);
  };
  fetch(request_to(url), std::move(next));
}

// ---- Where to sign in

void Authorization::find(Found found) {
  std::vector<std::string> urls = resource_metadata_urls(config_.url);
  if (!challenge_.resource_metadata.empty()) urls.insert(urls.begin(), challenge_.resource_metadata);
  first_of(std::move(urls), [this, found = std::move(found)](const Json& resource) {
    Place place{.issuer = origin_of(config_.url)};
    if (resource.is_object()) {
      place.resource = text_field(resource, "resource");
      if (!covers(place.resource, config_.url)) {
        return found(fail(Code::kUnavailable, fmt::format("its metadata is that of another resource, {}",
                                                          quote_json(cut_text(place.resource, 200)))));
      }
      if (const auto servers = texts_at(resource, "authorization_servers"); !servers.empty()) place.issuer = servers[0];
      place.scope = fmt::format("{}", fmt::join(texts_at(resource, "scopes_supported"), " "));
    }
    first_of(issuer_metadata_urls(place.issuer),
             [this, place, found](const Json& metadata) { take_metadata(place, metadata, found); });
  });
}

void Authorization::take_metadata(Place place, const Json& metadata, const Found& found) const {
  if (metadata.is_object()) {
    // RFC 8414 wants them to be the same; there are servers of several tenants that name themselves alone.
    const std::string issuer = text_field(metadata, "issuer");
    if (origin_of(issuer) != origin_of(place.issuer)) {
      return found(
          fail(Code::kUnavailable, fmt::format("the metadata of {} are those of another issuer", place.issuer)));
    }
    place.issuer = issuer;
    place.authorize = text_field(metadata, "authorization_endpoint");
    place.token = text_field(metadata, "token_endpoint");
    place.registration = text_field(metadata, "registration_endpoint");
    place.methods = texts_at(metadata, "token_endpoint_auth_methods_supported");
    place.names_itself = metadata.value("authorization_response_iss_parameter_supported", Json()) == true;
    if (config_.oauth.by_person() && !has(texts_at(metadata, "code_challenge_methods_supported"), "S256")) {
      return found(fail(Code::kUnavailable, fmt::format("{} does not say that it takes PKCE by S256", place.issuer)));
    }
  } else if (place.resource.empty()) {
    place.authorize = place.issuer + "/authorize";
    place.token = place.issuer + "/token";
    place.registration = place.issuer + "/register";
  } else {
    return found(fail(Code::kUnavailable, fmt::format("{} has no metadata of an authorization server", place.issuer)));
  }
  if (const Status fit = check_place(place); !fit) return found(std::unexpected(fit.error()));
  found(std::move(place));
}

// Codes, secrets and tokens go there.
Status Authorization::check_place(const Place& place) const {
  for (const std::string* url : {&place.authorize, &place.token, &place.registration}) {
    if (url->empty() || url->starts_with("https://")) continue;
    if (url->starts_with("http://") && host_of(*url) == host_of(config_.url)) continue;
    return fail(Code::kUnavailable, fmt::format("{} is no https URL", quote_json(cut_text(*url, 200))));
  }
  return {};
}

std::string Authorization::scope_for(const Place& place) const {
  if (!config_.oauth.scope.empty()) return config_.oauth.scope;
  if (challenge_.error == kNarrow)
    return fmt::format("{}", fmt::join(words_of(grant_.scope + " " + challenge_.scope), " "));
  return challenge_.scope.empty() ? place.scope : challenge_.scope;
}

// Who the daemon is there: as configured, or registered now. It registers anew for each sign-in, for who keeps the registrations may have
// dropped one, and tells only the person.
void Authorization::identify(const Place& place, std::function<void(Result<Identity>)> told) {
  if (!config_.oauth.client_id.empty()) {
    if (config_.oauth.private_key) return told(Identity{.id = config_.oauth.client_id, .method = kAssertion});
    const auto& secret = config_.oauth.client_secret;
    return told(Identity{.id = config_.oauth.client_id,
                         .secret = secret ? secret->value : "",
                         .method = method_for(place.methods, secret.has_value())});
  }
  if (place.registration.empty()) {
    return told(
        fail(Code::kUnavailable, fmt::format("{} lets nobody register: register the daemon there, with {}, and set "
                                             "mcp.servers.{}.oauth.client_id",
                                             place.issuer, sign_in_.redirect_uri, config_.name)));
  }
  const auto method = has(place.methods, kNone) ? kNone : method_for(place.methods, true);
  http::OutboundRequest request = request_to(place.registration);
  request.method = "POST";
  request.headers.emplace_back("Content-Type", "application/json");
  request.body = dump_json({{"client_name", "agentd"},
                            {"redirect_uris", {sign_in_.redirect_uri}},
                            {"grant_types", {"authorization_code", "refresh_token"}},
                            {"response_types", {"code"}},
                            {"token_endpoint_auth_method", method}});
  fetch(std::move(request), [place, told = std::move(told)](int status, const Json& answer) {
    Identity out{.id = text_field(answer, "client_id")};
    if (out.id.empty() || status < 200 || status > 299) {
      return told(fail(Code::kUnavailable,
                       fmt::format("{} does not register the daemon ({})", place.issuer, error_in(status, answer))));
    }
    out.secret = text_field(answer, "client_secret");
    out.method = text_field(answer, "token_endpoint_auth_method");
    if (out.method != kBasic && out.method != kPost && out.method != kNone)
      out.method = method_for(place.methods, !out.secret.empty());
    told(std::move(out));
  });
}

// ---- Tokens

void Authorization::ask_for_token(const Place& place, const Identity& client, http::Query fields,
                                  std::function<void(Status)> done) {
  http::OutboundRequest request = request_to(place.token);
  request.method = "POST";
  request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
  if (client.method == kBasic) {
    request.headers.emplace_back("Authorization", basic_credentials(client.id, client.secret));
  } else {
    fields.emplace_back("client_id", client.id);
    if (client.method == kPost) fields.emplace_back("client_secret", client.secret);
    if (client.method == kAssertion) {
      auto assertion = client_assertion(config_.oauth.private_key ? config_.oauth.private_key->value : "", client.id,
                                        place.issuer, SystemClock{}.wall_ms() / 1'000);
      if (!assertion) return done(std::unexpected(assertion.error()));
      fields.emplace_back("client_assertion_type", kAssertionType);
      fields.emplace_back("client_assertion", *std::move(assertion));
    }
  }
  if (!place.resource.empty()) fields.emplace_back("resource", place.resource);
  request.body = http::form_of(fields);
  fetch(std::move(request), [this, place, client, done = std::move(done)](int status, const Json& answer) {
    if (status != 200 || text_field(answer, "access_token").empty()) {
      return done(fail(status == 0 ? Code::kUnavailable : Code::kPermissionDenied,
                       fmt::format("{} gives no token ({})", place.issuer, error_in(status, answer))));
    }
    take_grant(place, client, answer);
    done({});
  });
}

void Authorization::take_grant(const Place& place, const Identity& client, const Json& answer) {
  const std::string refresh = text_field(answer, "refresh_token");
  const std::string scope = text_field(answer, "scope");
  const std::string before = grant_.issuer == place.issuer ? grant_.refresh_token : "";
  grant_ = {.issuer = place.issuer,
            .token_endpoint = place.token,
            .resource = place.resource,
            .access_token = text_field(answer, "access_token"),
            .refresh_token = refresh.empty() ? before : refresh,
            .scope = scope.empty() ? scope_for(place) : scope,
            .client = client};
  failure_.clear();
  keep();
  log::info("the daemon is let in by an MCP server", {{"server", config_.name}, {"issuer", place.issuer}});
  set_wants_person(false);
}

void Authorization::refused(const std::string& token, const Challenge& challenge, std::function<void(bool)> done) {
  if (token != grant_.access_token) return done(true);  // it was renewed meanwhile
  challenge_ = challenge;
  const bool is_narrow = challenge.error == kNarrow;
  if (is_narrow && std::ranges::includes(words_of(grant_.scope), words_of(challenge.scope))) {
    failure_ = fmt::format("it wants the scope {}, which it has given", quote_json(cut_text(challenge.scope, 200)));
    return done(false);
  }
  const bool by_itself = !config_.oauth.by_person() || (!grant_.refresh_token.empty() && !is_narrow);
  if (!by_itself) {
    set_wants_person(true);
    return done(false);
  }
  waiting_.push_back(std::move(done));
  if (!std::exchange(renewing_, true)) renew();
}

void Authorization::renew() {
  if (!config_.oauth.by_person()) {
    return find([this](Result<Place> place) {
      if (!place) return renewed(std::unexpected(place.error()));
      identify(*place, [this, place = *place](const Result<Identity>& client) {
        if (!client) return renewed(std::unexpected(client.error()));
        http::Query fields = {{"grant_type", "client_credentials"}};
        if (const std::string scope = scope_for(place); !scope.empty()) fields.emplace_back("scope", scope);
        ask_for_token(place, *client, std::move(fields), [this](const Status& status) { renewed(status); });
      });
    });
  }
  ask_for_token({.issuer = grant_.issuer, .token = grant_.token_endpoint, .resource = grant_.resource}, grant_.client,
                {{"grant_type", "refresh_token"}, {"refresh_token", grant_.refresh_token}},
                [this](const Status& status) { renewed(status); });
}

void Authorization::renewed(const Status& status) {
  renewing_ = false;
  if (!status) {
    failure_ = status.error().message;
    if (config_.oauth.by_person() && status.error().code == Code::kPermissionDenied) {
      grant_.refresh_token.clear();  // it is good for nothing
      keep();
      set_wants_person(true);
    }
  }
  for (auto& done : std::exchange(waiting_, {})) done(status.has_value());
}

// ---- A person

void Authorization::begin(std::function<void(Result<std::string>)> told) {
  find([this, told = std::move(told)](Result<Place> place) {
    if (!place) return told(std::unexpected(place.error()));
    identify(*place, [this, place = *place, told](const Result<Identity>& client) {
      if (!client) return told(std::unexpected(client.error()));
      const std::string state = random_hex(64), verifier = random_hex(64);
      http::Query fields = {{"response_type", "code"},
                            {"client_id", client->id},
                            {"redirect_uri", sign_in_.redirect_uri},
                            {"state", state},
                            {"code_challenge", code_challenge(verifier)},
                            {"code_challenge_method", "S256"}};
      if (const std::string scope = scope_for(place); !scope.empty()) fields.emplace_back("scope", scope);
      if (!place.resource.empty()) fields.emplace_back("resource", place.resource);
      if (asked_.size() >= kMostAsked) asked_.erase(asked_.begin());
      asked_[state] = {.verifier = verifier, .place = place, .client = *client};
      told(fmt::format("{}{}{}", place.authorize, place.authorize.contains('?') ? '&' : '?', http::form_of(fields)));
    });
  });
}

void Authorization::finish(const http::Query& back, std::function<void(Status)> done) {
  const auto asked = std::move(asked_.extract(value_of(back, "state")).mapped());
  const std::string issuer = value_of(back, "iss");
  if ((!issuer.empty() || asked.place.names_itself) && issuer != asked.place.issuer) {
    return done(fail(Code::kPermissionDenied, "the answer is another authorization server's"));
  }
  const std::string code = value_of(back, "code");
  if (code.empty()) {
    const std::string error = value_of(back, "error");
    return done(fail(Code::kPermissionDenied,
                     error.empty() ? "there is no code in the answer"
                                   : "the authorization server says " + quote_json(cut_text(error, 100))));
  }
  ask_for_token(asked.place, asked.client,
                {{"grant_type", "authorization_code"},
                 {"code", code},
                 {"redirect_uri", sign_in_.redirect_uri},
                 {"code_verifier", asked.verifier}},
                std::move(done));
}

void Authorization::set_wants_person(bool wants) {
  if (std::exchange(wants_person_, wants) == wants) return;
  if (wants) {
    log::warn("an MCP server wants a person to sign in; ask the agent for it, as its operator",
              {{"server", config_.name}});
  }
  changed_();
}

// ---- What the next life needs

void Authorization::load(const Json& kept) {
  if (!kept.is_object() || text_field(kept, "url") != config_.url ||
      text_field(kept, "configured_client") != config_.oauth.client_id) {
    return;
  }
  grant_ = {.issuer = text_field(kept, "issuer"),
            .token_endpoint = text_field(kept, "token_endpoint"),
            .resource = text_field(kept, "resource"),
            .access_token = text_field(kept, "access_token"),
            .refresh_token = text_field(kept, "refresh_token"),
            .scope = text_field(kept, "scope"),
            .client = {.id = text_field(kept, "client_id"),
                       .secret = config_.oauth.client_secret ? config_.oauth.client_secret->value
                                                             : text_field(kept, "client_secret"),
                       .method = text_field(kept, "client_method")}};
}

void Authorization::keep() const {
  // What the configuration refers to is not written down a second time.
  const bool is_registered = config_.oauth.client_id.empty();
  sign_in_.keep({{"url", config_.url},
                 {"configured_client", config_.oauth.client_id},
                 {"issuer", grant_.issuer},
                 {"token_endpoint", grant_.token_endpoint},
                 {"resource", grant_.resource},
                 {"access_token", grant_.access_token},
                 {"refresh_token", grant_.refresh_token},
                 {"scope", grant_.scope},
                 {"client_id", grant_.client.id},
                 {"client_secret", is_registered ? grant_.client.secret : ""},
                 {"client_method", grant_.client.method}});
}

}  // namespace agentd::mcp
