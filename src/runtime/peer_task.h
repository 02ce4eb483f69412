// PeerTask: a task at another agent, put together from what its stream tells (a2a.md section 2). Pure.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "runtime/tools.h"

namespace agentd::runtime {

class PeerTask final {
 public:
  // One StreamResponse. Whatever does not have its shape is passed over.
  void take(const Json& response);

  [[nodiscard]] const std::string& id() const { return id_; }
  // Terminal, or waiting for somebody; or answered with a message.
  [[nodiscard]] bool is_settled() const;
  [[nodiscard]] bool is_over() const;
  // For the model that delegated it: artifacts and last word, or the question that it waits with.
  [[nodiscard]] ToolOutcome outcome() const;

 private:
  void take_checked(const Json& response);
  void take_task(const Json& task);
  void take_artifact(const Json& artifact, bool append);

  std::string id_, state_, word_;
  bool answered_ = false;                                       // with a message, without a task
  std::vector<std::pair<std::string, std::string>> artifacts_;  // id, text
  std::size_t bytes_ = 0;                                       // of their texts
  bool is_cut_ = false;
};

}  // namespace agentd::runtime
