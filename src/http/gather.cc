#include "http/gather.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace agentd::http {

namespace {

constexpr std::string_view kChunkEnd = "\r\n";

// "1a7\r\n" of a chunk's size.
class ChunkHeader {
 public:
  explicit ChunkHeader(std::size_t size) {
    char* end = std::to_chars(text_.begin(), text_.end() - kChunkEnd.size(), size, 16).ptr;
    end = std::ranges::copy(kChunkEnd, end).out;
    size_ = static_cast<std::size_t>(end - text_.begin());
  }
  [[nodiscard]] std::string_view text() const { return {text_.data(), size_}; }

 private:
  std::array<char, 18> text_;
  std::size_t size_;
};

std::size_t payload_size(const StreamEvent& event) {
  std::size_t size = 0;
  for (const auto piece : event.pieces) size += piece.size();
  return size;
}

}  // namespace

std::size_t wire_size(const StreamEvent& event, Chunked chunked) {
  const auto size = payload_size(event);
  if (size == 0 || chunked == Chunked::kNo) return size;
  return ChunkHeader(size).text().size() + size + kChunkEnd.size();
}

void Gather::clear() {
  count_ = 0;
  scratch_used_ = 0;
  first_ = 0;
  scratch_first_ = 0;
  bytes_ = 0;
}

bool Gather::begin() {
  if (count_ + kPieces > pieces_.size() || scratch_used_ + kScratch > scratch_.size()) return false;
  first_ = count_;
  scratch_first_ = scratch_used_;
  bytes_ = 0;
  return true;
}

bool Gather::full() const {
  return bytes_ >= kBytes || count_ - first_ + kPiecesOfEvent > kPieces ||
         scratch_used_ - scratch_first_ + kScratchOfEvent > kScratch;
}

bool Gather::add(std::string_view bytes) {
  if (full()) return false;
  std::size_t skip = 0;
  put(bytes, skip);
  return true;
}

bool Gather::add(const StreamEvent& event, Chunked chunked, std::size_t skip) {
  if (full()) return false;
  const auto size = payload_size(event);
  if (size == 0) return true;
  if (chunked == Chunked::kYes) put(ChunkHeader(size).text(), skip);
  for (const auto piece : event.pieces) put(piece, skip);
  if (chunked == Chunked::kYes) put(kChunkEnd, skip);
  return true;
}

void Gather::put(std::string_view piece, std::size_t& skip) {
  const auto skipped = std::min(skip, piece.size());
  skip -= skipped;
  piece.remove_prefix(skipped);
  if (piece.empty()) return;
  bytes_ += piece.size();
  if (piece.size() <= kCopied) return copy(piece);
  // A sendmsg reads only; iovec serves both ways and knows no const.
  pieces_[count_++] = {.iov_base = const_cast<char*>(piece.data()), .iov_len = piece.size()};
}

void Gather::copy(std::string_view piece) {
  char* const to = scratch_.data() + scratch_used_;
  std::memcpy(to, piece.data(), piece.size());
  scratch_used_ += piece.size();
  if (count_ > first_) {
    iovec& last = pieces_[count_ - 1];
    if (static_cast<char*>(last.iov_base) + last.iov_len == to) {
      last.iov_len += piece.size();
      return;
    }
  }
  pieces_[count_++] = {.iov_base = to, .iov_len = piece.size()};
}

}  // namespace agentd::http
