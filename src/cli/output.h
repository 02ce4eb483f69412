// Output: whole lines to a descriptor, written at once and not buffered. A reader that has gone (EPIPE) is
// not an error: everything after it is dropped, and broken() says so. Confined to one thread at a time.
#pragma once

#include <string_view>

#include "cli/render.h"
#include "client/credentials.h"
#include "client/stop.h"

namespace agentd::cli {

class Output final {
 public:
  explicit Output(int fd) : fd_(fd) {}
  void text(std::string_view bytes);
  void line(std::string_view text);  // and a line feed
  [[nodiscard]] bool broken() const { return broken_; }
  [[nodiscard]] bool is_terminal() const;
  // Colours on a terminal, unless NO_COLOR is set or TERM is dumb.
  [[nodiscard]] Style style() const;

 private:
  int fd_;
  bool broken_ = false;
};

// What a command has of its user. `stop` is requested by Ctrl-C.
struct Console {
  Output& out;
  Output& err;
  client::Stop& stop;
  const client::Credentials& credentials;
};

}  // namespace agentd::cli
