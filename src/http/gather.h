// Gather: what will be handed to the kernel for one socket after the other, each message in as few pieces as possible.
// Confined to one thread; reused by everything that the thread sends.
//
// A send costs by its pieces: so short ones (chunk framing, the envelope around an event) are copied side by
// side into a scratch buffer, and only long ones are borrowed. An event of the feed costs two pieces, and
// about a hundred of them fit into one call.
//
//     | scratch                   | borrowed         | scratch                              | borrowed ...
//     | "1a7\r\n" "data: {…,"     | the event's JSON | "}\n\n" "\r\n" "1b2\r\n" "data: {…," | ...
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "http/server.h"

namespace agentd::http {

enum class Chunked : bool { kNo, kYes };

// Of an event with its chunk header and chunk end. An empty event is no bytes at all: an empty chunk would
// end the body.
[[nodiscard]] std::size_t wire_size(const StreamEvent& event, Chunked chunked);

class Gather final {
 public:
  static constexpr std::size_t kBytes = 64U << 10U;  // soft: the event that crosses it is still taken

  void clear();
  // Begins the next message; those before it stay until clear(). False when there is no room for a long one.
  [[nodiscard]] bool begin();
  // Borrows the bytes until the send. False, and nothing added, when it is full.
  bool add(std::string_view bytes);
  bool add(const StreamEvent& event, Chunked chunked,
           std::size_t skip = 0);  // without the first `skip` bytes

  // Of the message that was begun last.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::span<iovec> pieces() { return std::span(pieces_).subspan(first_, count_ - first_); }

 private:
  static constexpr std::size_t kPieces = 256;  // of a message
  static constexpr std::size_t kScratch = 16U << 10U;
  static constexpr std::size_t kMessages = 4;  // as long as can be; of short ones, a hundred and more
  static constexpr std::size_t kCopied = 128;  // pieces up to this size are copied
  static constexpr std::size_t kPiecesOfEvent = 6;
  static constexpr std::size_t kScratchOfEvent = kPiecesOfEvent * kCopied;

  [[nodiscard]] bool full() const;
  void put(std::string_view piece, std::size_t& skip);
  void copy(std::string_view piece);

  std::array<iovec, kMessages * kPieces> pieces_;
  std::array<char, kMessages * kScratch> scratch_;
  std::size_t count_ = 0;
  std::size_t scratch_used_ = 0;
  // Of the last message.
  std::size_t first_ = 0;
  std::size_t scratch_first_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace agentd::http
