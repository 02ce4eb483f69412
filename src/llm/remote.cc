#include "llm/remote.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/redact.h"
#include "llm/answer_reader.h"
#include "llm/anthropic.h"
#include "llm/failure.h"
#include "llm/openai.h"

namespace agentd::llm {
namespace {

constexpr std::int64_t kFirstBackoffMs = 500;
// After an answer's last event its body ends too, at once, and the connection can be kept; some servers hold it open.
constexpr std::int64_t kLingerMs = 500;
constexpr std::size_t kMostErrorBody = 64U << 10U;
constexpr std::size_t kMostWords = 300;  // of what a provider says in place of an answer, ours around it included

std::vector<config::Endpoint> endpoints_of(const config::Model& model) {
  auto endpoints = model.endpoints;
  if (endpoints.empty()) endpoints.emplace_back();
  const bool anthropic = model.provider == config::Provider::kAnthropic;
  for (auto& endpoint : endpoints) {
    if (endpoint.url.empty()) endpoint.url = anthropic ? "https://api.anthropic.com/v1" : "https://api.openai.com/v1";
    if (endpoint.model.empty()) endpoint.model = model.name;
    if (!endpoint.api_key) endpoint.api_key = model.api_key;
  }
  return endpoints;
}

// "host:port" of a URL, or "host": without what may be secret in it.
std::string_view host_of(std::string_view url) {
  if (const auto scheme = url.find("://"); scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  const auto user = url.rfind('@');
  return user == std::string_view::npos ? url : url.substr(user + 1);
}

// A provider may echo the key that it was given.
std::string presentable(std::string_view words, const std::optional<config::Secret>& key) {
  std::string text = key ? Redactor({key->value}).redact(words) : std::string(words);
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return cut_text(text, kMostWords);
}

bool may_say_when(int status) { return status == 429 || status == 503 || status == 529; }

}  // namespace

struct Question::Impl final : std::enable_shared_from_this<Question::Impl> {
  Impl(RemoteModel& of, ChatRequest asked, Listener listening)
      : owner_(of),
        request_(std::move(asked)),
        listener_(std::move(listening)),
        places_(of.endpoints_.size()),
        backoff_(of.random_, kFirstBackoffMs),
        timer_(of.loop_) {}

  void attempt();
  void end();

 private:
  struct Place {
    bool refused = false;
    std::int64_t not_before_ms = 0;  // monotonic
  };

  [[nodiscard]] const config::Endpoint& endpoint() const { return owner_.endpoints_[place_]; }
  [[nodiscard]] http::OutboundRequest outbound() const;
  [[nodiscard]] http::Receiver receiver();
  void take_head(const http::ResponseHead& head);
  void take_body(std::string_view bytes);
  void take_end(Status status);
  void take_refusal();
  void conclude();
  void say(std::string_view text);
  [[nodiscard]] Error named(Error error) const;
  [[nodiscard]] std::optional<std::size_t> next_place() const;
  void fail_attempt(Error why);
  void settle(Result<Completion> result);

  RemoteModel& owner_;
  const ChatRequest request_;
  Listener listener_;
  bool ended_ = false;

  std::vector<Place> places_;  // as the owner's endpoints
  std::size_t place_ = 0;
  std::uint64_t attempts_ = 0;
  std::vector<std::string> faults_;  // of the endpoints that refused
  Backoff backoff_;
  net::Timer timer_;  // until the next attempt; after an answer's last event, until its body has ended

  // Of the attempt.
  http::Transfer transfer_;
  std::size_t prompt_bytes_ = 0;
  int status_ = 0;
  std::optional<AnswerReader> reader_;  // of an answer; without one the provider says what it has against it
  std::string refusal_;
};

void Question::Impl::end() {
  ended_ = true;
  timer_.cancel();
  transfer_ = {};
}

http::OutboundRequest Question::Impl::outbound() const {
  const auto& model = owner_.model_;
  auto outbound = model.provider == config::Provider::kAnthropic ? anthropic_request(request_, model, endpoint())
                                                                 : openai_request(request_, model, endpoint());
  outbound.reach = http::Reach::kAnywhere;
  outbound.ca = model.ca;
  outbound.proxy = model.proxy;
  outbound.deadlines = {.connect_ms = model.connect_timeout_ms,
                        .first_byte_ms = model.first_byte_timeout_ms,
                        .silence_ms = model.silence_timeout_ms,
                        .total_ms = 0};
  return outbound;
}

// Each keeps this alive while it runs: a listener may destroy the question.
http::Receiver Question::Impl::receiver() {
  const auto weak = weak_from_this();
  return {.head =
              [weak](const http::ResponseHead& head) {
                if (const auto self = weak.lock()) self->take_head(head);
              },
          .body =
              [weak](std::string_view bytes) {
                if (const auto self = weak.lock()) self->take_body(bytes);
              },
          .done =
              [weak](Status status) {
                if (const auto self = weak.lock()) self->take_end(std::move(status));
              }};
}

void Question::Impl::attempt() {
  ++attempts_;
  status_ = 0;
  refusal_.clear();
  reader_.reset();
  auto asked = outbound();
  prompt_bytes_ = asked.body.size();
  transfer_ = owner_.client_.start(std::move(asked), receiver());
}

void Question::Impl::take_head(const http::ResponseHead& head) {
  status_ = head.status;
  if (status_ >= 200 && status_ < 300) {
    reader_.emplace(owner_.model_.provider, head.header("Content-Type"), prompt_bytes_);
  } else if (may_say_when(status_)) {
    places_[place_].not_before_ms =
        owner_.clock_.mono_ms() + retry_after_ms(head.header("Retry-After"), owner_.clock_.wall_ms());
  }
}

void Question::Impl::take_body(std::string_view bytes) {
  if (!reader_) {
    refusal_ += bytes.substr(0, kMostErrorBody - refusal_.size());
    if (refusal_.size() == kMostErrorBody) take_refusal();
    return;
  }
  std::string text;
  auto read = reader_->read(bytes, text);
  say(text);
  if (ended_) return;
  if (!read) return fail_attempt(named(std::move(read).error()));
  if (!reader_->over() || timer_.armed()) return;
  timer_.arm(kLingerMs, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->conclude();
  });
}

void Question::Impl::take_end(Status status) {
  if (reader_ && reader_->over()) return conclude();
  if (!status) {
    auto& why = status.error();
    if (why.code == Code::kTimeout || why.code == Code::kUnavailable) return fail_attempt(std::move(why));
    return fail_attempt(named({.code = Code::kConfig, .message = std::move(why.message)}));  // nothing was sent
  }
  if (reader_) return conclude();
  take_refusal();
}

void Question::Impl::take_refusal() { fail_attempt(named(failure_of_status(status_, refusal_, endpoint().model))); }

void Question::Impl::conclude() {
  std::string text;
  auto answer = reader_->finish(text);
  say(text);
  if (ended_) return;
  if (!answer) return fail_attempt(named(std::move(answer).error()));
  answer->model = endpoint().model;
  settle(*std::move(answer));
}

void Question::Impl::say(std::string_view text) {
  if (!text.empty() && listener_.text) listener_.text(text);
}

Error Question::Impl::named(Error error) const {
  error.message = fmt::format("{}: {}", host_of(endpoint().url), presentable(error.message, endpoint().api_key));
  return error;
}

// The one after this in the list, or around it, that did not refuse.
std::optional<std::size_t> Question::Impl::next_place() const {
  for (std::size_t step = 1; step <= places_.size(); ++step) {
    const std::size_t next = (place_ + step) % places_.size();
    if (!places_[next].refused) return next;
  }
  return {};
}

void Question::Impl::fail_attempt(Error why) {
  transfer_ = {};
  timer_.cancel();
  const bool refused = why.code == Code::kConfig;
  if (refused) {
    places_[place_].refused = true;
    faults_.push_back(why.message);
  }
  const auto next = next_place();
  if (!next) return settle(fail(Code::kConfig, fmt::to_string(fmt::join(faults_, "; "))));
  if (attempts_ > owner_.model_.retries) {
    if (!refused) faults_.push_back(why.message);
    std::string message = fmt::format(
        "the model did not answer (attempts: {}): {}; try again later, or name another one in `endpoints` of "
        "agent.model",
        attempts_, fmt::join(faults_, "; "));
    return settle(fail(why.code, std::move(message)));
  }
  place_ = *next;
  // One that has not failed yet need not be spared.
  const std::int64_t pause = refused ? 0 : backoff_.next_ms();
  const std::int64_t after_ms = std::max(pause, places_[place_].not_before_ms - owner_.clock_.mono_ms());
  timer_.arm(after_ms, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->attempt();
  });
  if (listener_.again) listener_.again(why, after_ms);
}

void Question::Impl::settle(Result<Completion> result) {
  end();
  listener_.done(std::move(result));
}

Question::Question(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Question::~Question() {
  if (impl_) impl_->end();
}

Question::Question(Question&&) noexcept = default;

Question& Question::operator=(Question&& other) noexcept {
  std::swap(impl_, other.impl_);
  if (const auto before = std::exchange(other.impl_, nullptr)) before->end();
  return *this;
}

RemoteModel::RemoteModel(net::Loop& loop, http::Client& client, const Clock& clock, config::Model model, Random random)
    : loop_(loop),
      client_(client),
      clock_(clock),
      model_(std::move(model)),
      endpoints_(endpoints_of(model_)),
      random_(std::move(random)) {}

Question RemoteModel::ask(ChatRequest request, Listener listener) {
  auto impl = std::make_shared<Question::Impl>(*this, std::move(request), std::move(listener));
  impl->attempt();
  return Question(std::move(impl));
}

}  // namespace agentd::llm
