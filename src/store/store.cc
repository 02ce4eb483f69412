#include "store/store.h"

#include <chrono>
#include <future>
#include <utility>

namespace agentd::store {

Status Store::commit_now(Batch batch) {
  constexpr std::chrono::seconds kPatience{30};
  // Shared: when the wait is given up, `done` still has a place to answer to.
  auto answer = std::make_shared<std::promise<Status>>();
  std::future<Status> status = answer->get_future();
  commit(std::move(batch), [answer](Status result) { answer->set_value(std::move(result)); });
  if (status.wait_for(kPatience) != std::future_status::ready) {
    return fail(Code::kTimeout, "the store did not confirm a write within 30 s");
  }
  return status.get();
}

}  // namespace agentd::store
