// RemoteModel: a chat model behind HTTP, in the dialect of OpenAI's chat completions or of Anthropic's messages, always streamed.
//
// An attempt that fails in a way that another may not (429, 5xx, no connection, a cut, malformed or empty answer, silence) is made again on the
// next endpoint of the list, after a back-off with jitter, and on an endpoint that said Retry-After not before that. An endpoint that refuses (the
// key, the model's name, the request) is not asked this question again. What an answer's pieces were before that is void, and said so; an
// answer is given as a whole or not at all. How long an answer may take that goes on is for the caller to bound.
// Confined to its loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/result.h"
#include "config/agent.h"
#include "http/client.h"
#include "llm/model.h"
#include "net/loop.h"

namespace agentd::llm {

// Called on the loop, never within ask(). `text` and `again` may be empty.
struct Listener {
  std::function<void(std::string_view)> text;  // a piece of the answer's text
  // The attempt failed, for this reason, and is made again in `after_ms`: the pieces so far are void.
  std::function<void(const Error& why, std::int64_t after_ms)> again;
  // The answer. Errors: kUnavailable (all attempts failed), kTimeout (the last of them by a deadline), kConfig (the provider refuses: the
  // key, the model's name, the request). They say what to do, and hold no secret.
  std::move_only_function<void(Result<Completion>)> done;
};

// One question under way. Destroying it ends it: nothing is called any more, from within its own callbacks too.
class Question final {
 public:
  Question() = default;
  ~Question();
  Question(Question&&) noexcept;
  Question& operator=(Question&&) noexcept;

 private:
  friend class RemoteModel;
  struct Impl;
  explicit Question(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

class RemoteModel final {
 public:
  // The references outlive this, and this its questions. `model` has a provider with a dialect. `random`: of the back-off.
  RemoteModel(net::Loop& loop, http::Client& client, const Clock& clock, config::Model model,
              Random random = system_random);

  // The messages begin with a user's.
  [[nodiscard]] Question ask(ChatRequest request, Listener listener);
  [[nodiscard]] const config::Model& model() const { return model_; }

 private:
  friend struct Question::Impl;

  net::Loop& loop_;
  http::Client& client_;
  const Clock& clock_;
  const config::Model model_;
  const std::vector<config::Endpoint> endpoints_;  // complete, at least one
  const Random random_;
};

}  // namespace agentd::llm
