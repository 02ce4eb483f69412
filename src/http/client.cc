#include "http/client.h"

#include <algorithm>
#include <utility>

#include "http/easy_transfer.h"
#include "http/multi_handle.h"

namespace agentd::http {

std::string_view ResponseHead::header(std::string_view name) const {
  const auto found = std::ranges::find_if(headers, [name](const auto& field) { return same_name(field.first, name); });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

Transfer::Transfer(std::shared_ptr<EasyTransfer> transfer) : transfer_(std::move(transfer)) {}

Transfer::~Transfer() {
  if (transfer_) transfer_->end();
}

Transfer::Transfer(Transfer&&) noexcept = default;

Transfer& Transfer::operator=(Transfer&& other) noexcept {
  std::swap(transfer_, other.transfer_);
  if (const auto before = std::exchange(other.transfer_, nullptr)) before->end();
  return *this;
}

Client::Client(net::Loop& loop)
    : loop_(loop), anywhere_(std::make_shared<MultiHandle>(loop)), public_(std::make_shared<MultiHandle>(loop)) {}

Client::~Client() = default;

Transfer Client::start(OutboundRequest request, Receiver receiver) {
  const auto& multi = request.reach == Reach::kPublic ? public_ : anywhere_;
  auto transfer = std::make_shared<EasyTransfer>(loop_, multi, std::move(request), std::move(receiver));
  transfer->begin();
  return Transfer(std::move(transfer));
}

}  // namespace agentd::http
