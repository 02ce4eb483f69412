#include "http/stream.h"

#include <utility>

namespace agentd::http {

Stream::Stream(std::shared_ptr<StreamSource> source, StreamLimits limits, Chunked chunked)
    : source_(std::move(source)), limits_(limits), chunked_(chunked) {}

Stream::~Stream() { source_->closed(); }

bool Stream::gather(Gather& out, std::vector<StreamEvent>& peeked) {
  if (current_ && !out.add(current_->event, chunked_, current_->sent)) return true;
  if (out.bytes() >= Gather::kBytes) return true;
  std::size_t fitting = peeked.size();
  const bool more = source_->peek(peeked, Gather::kBytes - out.bytes());
  while (fitting < peeked.size() && out.add(peeked[fitting], chunked_)) ++fitting;
  const bool all = fitting == peeked.size();
  peeked.resize(fitting);
  return more || !all;
}

std::size_t Stream::taken(std::size_t bytes, std::span<StreamEvent> peeked) {
  if (current_) {
    const auto rest = wire_size(current_->event, chunked_) - current_->sent;
    if (bytes < rest) {
      current_->sent += bytes;
      return 0;
    }
    bytes -= rest;
    current_.reset();
  }
  std::size_t consumed = 0;
  for (StreamEvent& event : peeked) {
    const auto size = wire_size(event, chunked_);
    if (bytes < size) {
      if (bytes == 0) break;
      current_ = std::make_unique<Current>(std::move(event), bytes);
      ++consumed;
      break;
    }
    bytes -= size;
    ++consumed;
  }
  if (consumed > 0) source_->consume(consumed);
  return consumed;
}

}  // namespace agentd::http
