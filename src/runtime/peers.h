// Peers: other A2A agents as tools (delegation): "<peer>__send" hands a message to one and follows the task that it makes of it.
//
//   card --> SendStreamingMessage --> updates until the task is settled --> its artifacts and last word
//                     \-- cut --> SubscribeToTask, with a back-off --/
//
// The card is fetched when the peer is first heard of, and again when it is older than five minutes and needed. The peer's URL is the operator's
// word; an interface on another host than that is the peer's, and may only be at a public address.
// A use that is cancelled cancels the peer's task. Confined to the core thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/agent.h"
#include "http/client.h"
#include "net/loop.h"
#include "runtime/tools.h"

namespace agentd::runtime {

class Peers final : public ToolSource {
 public:
  // The references outlive this.
  Peers(net::Loop& loop, const Clock& clock, http::Client& client);
  ~Peers() override;

  void set_peers(const std::vector<config::Peer>& peers);
  void stop();

  void list(std::vector<ToolFacts>& out) const override;
  [[nodiscard]] std::unique_ptr<ToolUse> use(ToolRequest request, ToolListener listener) override;

 private:
  struct Peer;
  class Use;

  void fetch_card(const std::shared_ptr<Peer>& peer);
  // Tells a peer to end a task that nobody waits for any more.
  void cancel(const std::shared_ptr<Peer>& peer, const std::string& task);

  net::Loop& loop_;
  const Clock& clock_;
  http::Client& client_;
  std::map<std::string, std::shared_ptr<Peer>> peers_;  // by the name of their tool
  std::map<std::uint64_t, http::Transfer> farewells_;
  std::uint64_t last_farewell_ = 0;
};

}  // namespace agentd::runtime
