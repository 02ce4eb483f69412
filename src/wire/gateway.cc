#include "wire/gateway.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <utility>
#include <vector>

#include "feed/params.h"
#include "wire/amend.h"
#include "wire/browser.h"
#include "wire/cors.h"
#include "wire/events_query.h"
#include "wire/form.h"

namespace agentd::wire {
namespace {

constexpr char kEvents[] = "/events";
constexpr std::size_t kMaxKeyBytes = 255;
constexpr std::uint64_t kAnyBytes = std::numeric_limits<std::uint64_t>::max();  // the server has a bound of its own

bool reads(const http::Request& request) { return request.method == "GET" || request.method == "HEAD"; }

access::Presented presented(const http::Request& request) {
  return {.authorization = request.header("Authorization"),
          .origin = foreign_origin(request),
          .host = request.header("Host"),
          .cookie = session_cookie(request),
          .csrf = request.header("X-CSRF-Token"),
          .changes = !reads(request),
          .page = is_of_foreign_page(request),
          .loopback = request.peer.loopback,
          .certificate = request.peer.certificate.get(),
          .unix_socket = request.peer.uid >= 0};
}

// What sign-in answers is kept by no cache, and taken by no browser for something else than it says.
void seal(const http::Request& request, http::Response& response) {
  if (!request.path.starts_with("/oauth2/")) return;
  const auto add = [&response](const char* name, const char* value) {
    const bool there = std::ranges::any_of(response.headers, [&](const auto& one) { return one.first == name; });
    if (!there) response.headers.emplace_back(name, value);
  };
  add("Cache-Control", "no-store");
  add("X-Content-Type-Options", "nosniff");
}

http::Response plain(int status, std::string text) {
  return {.status = status, .headers = {{"Content-Type", "text/plain; charset=utf-8"}}, .body = std::move(text)};
}

bool is_json(std::optional<std::string_view> content_type) {
  if (!content_type) return false;
  std::string media(content_type->substr(0, content_type->find(';')));
  while (media.ends_with(' ') || media.ends_with('\t')) media.pop_back();
  std::ranges::transform(media, media.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return media == "application/json";
}

// The A2A-Version that was asked for, by header or query; "" when it is missing.
std::string asked_version(const http::Request& request) {
  if (const auto header = request.header("A2A-Version")) return std::string(*header);
  return std::string(request.param("A2A-Version").value_or(""));
}

Status check_version(const std::string& asked) {
  const bool patch =
      asked.starts_with("1.0.") && asked.size() > 4 && asked.find_first_not_of("0123456789", 4) == std::string::npos;
  if (asked == "1.0" || patch) return {};
  Error error{
      .code = Code::kVersionNotSupported, .message = {}, .violations = {}, .metadata = {{"supportedVersions", "1.0"}}};
  error.message = asked.empty() ? "this daemon speaks A2A 1.0; say so with the header 'A2A-Version: 1.0'"
                                : fmt::format("A2A-Version {} is not supported; send the header 'A2A-Version: 1.0'",
                                              quote_json(cut_text(asked, 40)));
  return std::unexpected(std::move(error));
}

// How long the body will be, as its head says; one whose length is not said may be as long as it likes.
std::uint64_t announced_bytes(const http::Request& header) {
  if (header.header("Transfer-Encoding")) return kAnyBytes;
  const std::string_view text = header.header("Content-Length").value_or("0");
  std::uint64_t bytes = kAnyBytes;
  std::from_chars(text.data(), text.data() + text.size(), bytes);
  return bytes;
}

std::unexpected<Error> no_longer(const access::Caller& caller) {
  return access::invalid_token(
      caller.has_session()
          ? "you are signed out: the session ended meanwhile; sign in again with 'agentd login'"
          : "the rules of this daemon changed meanwhile: what you showed lets you in no more as who you were");
}

}  // namespace

// The methods of the JSON-RPC binding, by name. Each takes over the request and answers it, now or later.
struct Methods {
  struct Row {
    std::string_view name;
    void (*run)(Gateway&, Gateway::Rpc);
  };

  template <auto Operation>
  static void unary(Gateway& gateway, Gateway::Rpc rpc) {
    gateway.on_core(std::move(rpc),
                    [&service = gateway.parts_.service](const auto& call, const Json& params, auto reply) {
                      (service.*Operation)(call, params, std::move(reply));
                    });
  }

  static void send(Gateway& gateway, Gateway::Rpc rpc) {
    gateway.on_core(std::move(rpc),
                    [&commands = gateway.parts_.commands](const auto& call, const Json& params, auto reply) {
                      commands.send(call, params, {.reply = std::move(reply), .stream = nullptr});
                    });
  }
  static void send_streaming(Gateway& gateway, Gateway::Rpc rpc) {
    gateway.on_core_streaming(std::move(rpc), [&commands = gateway.parts_.commands](
                                                  const auto& call, const Json& params, runtime::Delivery delivery) {
      commands.send(call, params, std::move(delivery));
    });
  }
  static void subscribe(Gateway& gateway, Gateway::Rpc rpc) {
    gateway.on_core_streaming(std::move(rpc), [&service = gateway.parts_.service](const auto& call, const Json& params,
                                                                                  runtime::Delivery delivery) {
      service.subscribe(call, params, std::move(delivery));
    });
  }
  static void push_config(Gateway& gateway, Gateway::Rpc rpc) {
    gateway.answer(
        rpc, fail(Code::kPushNotSupported, "this agent sends no push notifications; subscribe to the task instead"));
  }
  static void extended_card(Gateway& gateway, Gateway::Rpc rpc) {
    gateway.answer(rpc, gateway.parts_.extended_card(rpc.call.caller));
  }
  static void events(Gateway& gateway, Gateway::Rpc rpc) { gateway.subscribe_to_events(std::move(rpc)); }

  static constexpr std::array kTable = {
      Row{"SendMessage", send},
      Row{"SendStreamingMessage", send_streaming},
      Row{"GetTask", unary<&runtime::Service::get_task>},
      Row{"ListTasks", unary<&runtime::Service::list_tasks>},
      Row{"CancelTask", unary<&runtime::Service::cancel_task>},
      Row{"SubscribeToTask", subscribe},
      Row{"CreateTaskPushNotificationConfig", push_config},
      Row{"GetTaskPushNotificationConfig", push_config},
      Row{"ListTaskPushNotificationConfigs", push_config},
      Row{"DeleteTaskPushNotificationConfig", push_config},
      Row{"GetExtendedAgentCard", extended_card},
      Row{"agentd.events/SubscribeToEvents", events},
  };
};

Gateway::Gateway(net::Loop& edge, GatewayParts parts)
    : edge_(edge), parts_(std::move(parts)), readers_(parts_.feed), deadlines_(edge, parts_.clock) {}

Gateway::~Gateway() { mailbox_->open = false; }

bool Gateway::is_rpc(const std::string& path) const {
  return path == "/" || (!parts_.rpc_prefix.empty() && (path == parts_.rpc_prefix || path == parts_.rpc_prefix + "/"));
}

std::optional<http::Response> Gateway::check_header(const http::Request& header) {
  auto refused = refuse_header(header);
  if (refused) seal(header, *refused);
  return refused;
}

std::optional<http::Response> Gateway::refuse_header(const http::Request& header) const {
  access::Presented from = presented(header);
  const bool page = parts_.pages.get()->has(header.path);
  if (page && reads(header)) from.origin.reset();  // for everybody, foreign pages too
  if (!parts_.access.from_here(from)) return http::Response{.status = 403, .headers = {{"Vary", "Origin"}}, .body = {}};
  // From here on an origin is one that may read what it is told.
  const auto tell = [&from](http::Response response) {
    if (from.origin) allow_origin(response, *from.origin);
    return response;
  };
  const bool events = header.path == kEvents;
  const bool sign_in = parts_.oauth.has(header);
  if (!page && !events && !sign_in && !is_rpc(header.path)) {
    return tell(plain(404,
                      "There is nothing here. JSON-RPC is served by POST to /, the agent card at "
                      "/.well-known/agent-card.json, the feed at /events.\n"));
  }
  const bool asks_nothing = is_preflight(header) || ((page || sign_in) && reads(header));
  if (announced_bytes(header) > (asks_nothing ? 0 : sign_in ? kFormBytes : kAnyBytes)) {
    return tell(plain(413, "The request has a larger body than is read here.\n"));
  }
  if (is_preflight(header)) return std::nullopt;
  if (sign_in) {
    auto refused = parts_.oauth.check_header(header);
    return refused ? std::optional(tell(*std::move(refused))) : std::nullopt;
  }
  if (page || events) {
    if (!reads(header)) return tell({.status = 405, .headers = {{"Allow", "GET, HEAD"}}, .body = {}});
    if (page) return std::nullopt;
  } else if (header.method != "POST") {
    http::Response response = plain(405, "JSON-RPC is served by POST. Begin with GET /.well-known/agent-card.json.\n");
    response.headers.emplace_back("Allow", "POST");
    return tell(std::move(response));
  } else if (!is_json(header.header("Content-Type"))) {
    return tell(error_response(nullptr, {.code = Code::kContentTypeNotSupported,
                                         .message = "send JSON-RPC with the header 'Content-Type: application/json'"}));
  }
  if (const auto caller = identify(header); !caller) return tell(error_response(nullptr, caller.error()));
  return std::nullopt;
}

void Gateway::handle(std::shared_ptr<http::Exchange> exchange) {
  const http::Request& request = exchange->request();
  const bool preflight = is_preflight(request);
  const auto pages = parts_.pages.get();
  if (!preflight && pages->has(request.path)) return exchange->respond(pages->get(request));
  if (foreign_origin(request)) exchange = readable_by_origin(std::move(exchange));
  if (preflight) return exchange->respond(preflight_response());
  if (parts_.oauth.has(request)) {
    exchange = amended(std::move(exchange), seal);
    auto handled =
        parts_.oauth.handle(request, *parts_.access.rules(), [&](auto csrf) { return identify(request, csrf); });
    if (auto* response = std::get_if<http::Response>(&handled)) return exchange->respond(std::move(*response));
    return respond_from_core(std::move(exchange), std::get<Work>(std::move(handled)));
  }
  const auto caller = identify(request);
  if (!caller) return exchange->respond(error_response(nullptr, caller.error()));
  request.path == kEvents ? get_events(std::move(exchange), *caller) : rpc(std::move(exchange), *caller);
}

Result<access::Caller> Gateway::identify(const http::Request& request, std::optional<std::string_view> csrf) const {
  access::Presented from = presented(request);
  if (csrf) from.csrf = csrf;
  auto caller = parts_.access.identify(from);
  if (!caller) {
    Error told = parts_.limits.refused(request.peer.address, std::move(caller.error()));
    audit_refusal(request, told);
    return std::unexpected(std::move(told));
  }
  if (from.authorization && !caller->has_session()) {
    if (const Status in = parts_.limits.let_in(request.peer.address); !in) return std::unexpected(in.error());
  }
  return caller;
}

void Gateway::audit_refusal(const http::Request& request, const Error& told) const {
  if (!access::is_failure(told)) return;
  parts_.core.post([&audit = parts_.audit, source = request.peer.address, code = told.code] {
    audit.refused(nullptr, "authenticate", {{"source", source}}, code);
  });
}

http::Response Gateway::refusal(int status, std::string_view reason) {
  http::Response response = error_response(nullptr, {.code = Code::kParse, .message = std::string(reason)});
  response.status = status;
  return response;
}

void Gateway::rpc(std::shared_ptr<http::Exchange> exchange, const access::Caller& caller) {
  const http::Request& request = exchange->request();
  const a2a::Extensions active = a2a::activated(request.header_list("A2A-Extensions"), parts_.declared);
  Rpc rpc{.exchange = exchange,
          .id = nullptr,
          .params = Json::object(),
          .call = {.caller = caller,
                   .active = active,
                   .idempotency_key = std::string(request.header("Idempotency-Key").value_or(""))},
          .echo = a2a::echo(active)};
  auto envelope = read_envelope(request.body);
  rpc.id = envelope ? std::move(envelope->id) : std::move(envelope.error().id);
  if (const Status admitted = parts_.limits.admit(caller); !admitted) {
    return answer(rpc, std::unexpected(admitted.error()));
  }
  if (!envelope) return answer(rpc, std::unexpected(std::move(envelope.error().error)));
  rpc.unkept = std::move(envelope->unkept);
  if (!envelope->params.is_null()) rpc.params = std::move(envelope->params);
  if (const Status version = check_version(asked_version(request)); !version) {
    return answer(rpc, std::unexpected(version.error()));
  }
  const auto row = std::ranges::find(Methods::kTable, std::string_view(envelope->method), &Methods::Row::name);
  if (row == Methods::kTable.end()) {
    return answer(rpc,
                  fail(Code::kMethodNotFound, fmt::format("there is no method {} here; the names are those of A2A 1.0, "
                                                          "such as SendMessage",
                                                          quote_json(cut_text(envelope->method, 100)))));
  }
  if (const Status named = a2a::check_required(a2a::kRequired, active); !named) {
    return answer(rpc, std::unexpected(named.error()));
  }
  if (rpc.call.idempotency_key.size() > kMaxKeyBytes) {
    return answer(rpc, std::unexpected(Error{.code = Code::kInvalidParams,
                                             .message = "Idempotency-Key is too long",
                                             .violations = {{"Idempotency-Key", "must be at most 255 bytes"}}}));
  }
  row->run(*this, std::move(rpc));
}

void Gateway::answer(const Rpc& rpc, const Result<runtime::ReplyValue>& result) {
  // What a caller asked for is not told to whoever it is who holds the credential after it was revoked.
  const auto text = [&rpc](const auto& value) { return result_text(rpc.id, value); };
  http::Response response = rpc.call.caller.is_revoked() ? error_response(rpc.id, no_longer(rpc.call.caller).error())
                            : result                     ? result_response(std::visit(text, *result))
                                                         : error_response(rpc.id, result.error());
  if (!rpc.echo.empty()) response.headers.emplace_back("A2A-Extensions", rpc.echo);
  rpc.exchange->respond(std::move(response));
}

runtime::Reply Gateway::reply_to(Ticket ticket) {
  return [this, ticket](Result<runtime::ReplyValue> result) {
    edge_.post([this, ticket, mailbox = mailbox_, result = std::move(result)] {
      if (!mailbox->open) return;
      if (auto node = parked_.extract(ticket)) answer(node.mapped(), result);
    });
  };
}

Gateway::Ticket Gateway::park(Rpc rpc) {
  const Ticket ticket = next_ticket_++;
  const auto exchange = rpc.exchange;
  parked_.emplace(ticket, std::move(rpc));
  exchange->on_abandoned([this, ticket] { parked_.erase(ticket); });
  return ticket;
}

void Gateway::respond_from_core(std::shared_ptr<http::Exchange> exchange, Work work) {
  const Ticket ticket = next_ticket_++;
  waiting_.emplace(ticket, exchange);
  exchange->on_abandoned([this, ticket] { waiting_.erase(ticket); });
  auto respond = [this, ticket, mailbox = mailbox_](http::Response response) {
    edge_.post([this, ticket, mailbox, response = std::move(response)]() mutable {
      if (!mailbox->open) return;
      if (auto node = waiting_.extract(ticket)) node.mapped()->respond(std::move(response));
    });
  };
  parts_.core.post([&journal = parts_.journal, work = std::move(work), respond = std::move(respond)]() mutable {
    auto response = work();
    journal.when_durable([response = std::move(response), respond = std::move(respond)](const Status& durable) mutable {
      respond(durable ? std::move(response) : OAuth::not_now());
    });
  });
}

void Gateway::refuse_parked(const Error& error) {
  for (const auto& [ticket, exchange] : std::exchange(waiting_, {})) exchange->respond(OAuth::not_now(error.message));
  for (const auto& [ticket, rpc] : std::exchange(parked_, {})) answer(rpc, std::unexpected(error));
}

void Gateway::on_core(Rpc rpc, std::move_only_function<void(const runtime::Call&, const Json&, runtime::Reply)> work) {
  if (rpc.unkept) return answer(rpc, std::unexpected(*rpc.unkept));
  runtime::Call call = rpc.call;
  Json params = std::move(rpc.params);
  const Ticket ticket = park(std::move(rpc));
  parts_.core.post(
      [call = std::move(call), params = std::move(params), reply = reply_to(ticket), work = std::move(work)]() mutable {
        // What was asked for before the caller was revoked, and was not done by then, is not done.
        if (call.caller.is_revoked()) return reply(no_longer(call.caller));
        work(call, params, std::move(reply));
      });
}

void Gateway::on_core_streaming(
    Rpc rpc, std::move_only_function<void(const runtime::Call&, const Json&, runtime::Delivery)> work) {
  if (rpc.unkept) return answer(rpc, std::unexpected(*rpc.unkept));
  runtime::Call call = rpc.call;
  Json params = std::move(rpc.params);
  SseFraming framing = rpc_framing(rpc.id);
  const Ticket ticket = park(std::move(rpc));
  auto revoked = call.caller.revoked;
  auto stream = std::make_shared<TaskStream>(
      edge_, std::move(framing), std::move(revoked), [this, ticket](std::shared_ptr<TaskStream> started) {
        auto node = parked_.extract(ticket);
        if (!node) return std::function<void()>();
        const Rpc& parked = node.mapped();
        if (parked.call.caller.revoked) keep(started);
        return parked.exchange->stream(stream_head(parked.echo), std::move(started), {});
      });
  parts_.core.post([call = std::move(call), params = std::move(params), reply = reply_to(ticket), stream,
                    work = std::move(work)]() mutable {
    if (call.caller.is_revoked()) return reply(no_longer(call.caller));
    work(call, params, {.reply = std::move(reply), .stream = std::move(stream)});
  });
}

void Gateway::subscribe_to_events(Rpc rpc) {
  const auto refused = [&](Code code, std::string message) {
    Error error{.code = code, .message = std::move(message)};
    error.metadata = {{"extension", std::string(a2a::uri(a2a::Extension::kEvents))},
                      {"method", "agentd.events/SubscribeToEvents"}};
    answer(rpc, std::unexpected(std::move(error)));
  };
  if (!parts_.declared.has(a2a::Extension::kEvents)) {
    return refused(Code::kExtensionNotDeclared, "the events extension is off on this daemon (a2a.events.enabled)");
  }
  if (!rpc.call.active.has(a2a::Extension::kEvents)) {
    return refused(
        Code::kExtensionNotActivated,
        fmt::format("activate the extension with the header 'A2A-Extensions: {}'", a2a::uri(a2a::Extension::kEvents)));
  }
  if (rpc.unkept) return answer(rpc, std::unexpected(*rpc.unkept));
  const auto from = feed::validate_params(&rpc.params);
  if (!from) return answer(rpc, std::unexpected(from.error()));
  auto place = take_stream(rpc.call.caller);
  if (!place) return answer(rpc, std::unexpected(place.error()));
  open_events(rpc.exchange,
              {.viewer = rpc.call.caller.viewer,
               .annotations = rpc.call.active.has(a2a::Extension::kTaskAnnotations),
               .revoked = rpc.call.caller.revoked},
              *from, rpc_framing(rpc.id), {.deadline_ms = parts_.config.a2a.events.deadline_ms}, std::move(*place),
              rpc.echo);
}

void Gateway::get_events(std::shared_ptr<http::Exchange> exchange, const access::Caller& caller) {
  if (const Status admitted = parts_.limits.admit(caller); !admitted) {
    return exchange->respond(error_response(nullptr, admitted.error()));
  }
  const http::Request& request = exchange->request();
  if (!parts_.declared.has(a2a::Extension::kEvents)) {
    return exchange->respond(plain(404, "The feed is off on this daemon (a2a.events.enabled).\n"));
  }
  const auto query = read_events_query(request);
  if (!query) return exchange->respond(plain(400, query.error().message + "\n"));
  auto place = take_stream(caller);
  if (!place) return exchange->respond(error_response(nullptr, place.error()));
  const a2a::Extensions active = a2a::activated(request.header_list("A2A-Extensions"), parts_.declared);
  open_events(exchange,
              {.viewer = caller.viewer,
               .annotations = active.has(a2a::Extension::kTaskAnnotations),
               .kinds = query->kinds,
               .revoked = caller.revoked},
              query->from_seq, bare_framing(),
              {.deadline_ms = parts_.config.a2a.events.deadline_ms, .ids = true, .follow = query->follow},
              std::move(*place), a2a::echo(active));
}

Result<Quota::Place> Gateway::take_stream(const access::Caller& caller) const {
  const auto& limits = parts_.config.a2a.events;
  const std::size_t mine = caller.viewer.is_operator ? limits.max_streams : limits.max_streams_per_principal;
  auto place = parts_.streams.take(caller.viewer.principal, {.all = limits.max_streams, .per_key = mine});
  if (place) return std::move(*place);
  Error error{.code = Code::kRateLimited,
              .message = place.error() == Quota::Full::kKey
                             ? "you have too many open streams; close one first"
                             : "too many streams are open on this daemon; try again later"};
  error.metadata = {{"retryAfterSeconds", "5"}};
  return std::unexpected(std::move(error));
}

void Gateway::open_events(const std::shared_ptr<http::Exchange>& exchange, feed::Interest interest,
                          std::uint64_t from_seq, SseFraming framing, EventsOptions options, Quota::Place place,
                          const std::string& echo) {
  auto stream = std::make_shared<EventsStream>(deadlines_, parts_.feed, readers_, std::move(interest), from_seq,
                                               std::move(framing), options, std::move(place));
  stream->on_ready(
      exchange->stream(stream_head(echo), stream, {.write_timeout_ms = parts_.config.a2a.events.write_timeout_ms}));
}

void Gateway::keep(const std::shared_ptr<TaskStream>& stream) {
  if (task_streams_.size() == task_streams_.capacity()) {
    std::erase_if(task_streams_, [](const std::weak_ptr<TaskStream>& known) { return known.expired(); });
  }
  task_streams_.push_back(stream);
}

void Gateway::callers_revoked() {
  edge_.post([this, mailbox = mailbox_] {
    if (mailbox->open) end_revoked();
  });
}

void Gateway::end_revoked() {
  readers_.wake_revoked();
  for (const auto& known : task_streams_) {
    if (const auto stream = known.lock()) stream->check_revoked();
  }
  std::vector<Ticket> over;
  for (const auto& [ticket, rpc] : parked_) {
    if (rpc.call.caller.is_revoked()) over.push_back(ticket);
  }
  for (const Ticket ticket : over) {
    if (auto node = parked_.extract(ticket)) answer(node.mapped(), no_longer(node.mapped().call.caller));
  }
}

void Gateway::feed_moved() {
  if (mailbox_->moved.exchange(true)) return;
  edge_.post([this, mailbox = mailbox_] {
    mailbox->moved = false;
    if (mailbox->open) readers_.moved();
  });
}

}  // namespace agentd::wire
