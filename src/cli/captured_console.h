// A console for tests: what a command writes is kept in memory. The captured text may be read while it still
// writes.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "cli/output.h"

namespace agentd::cli {

class CapturedConsole final {
 public:
  // Without a file there are no credentials, and none can be kept.
  explicit CapturedConsole(std::string credentials = {})
      : out_fd_(::memfd_create("out", 0)),
        err_fd_(::memfd_create("err", 0)),
        out_(out_fd_),
        err_(err_fd_),
        credentials_(std::move(credentials)) {}
  ~CapturedConsole() {
    ::close(out_fd_);
    ::close(err_fd_);
  }
  CapturedConsole(const CapturedConsole&) = delete;
  CapturedConsole& operator=(const CapturedConsole&) = delete;

  [[nodiscard]] Console console() { return {.out = out_, .err = err_, .stop = stop_, .credentials = credentials_}; }
  [[nodiscard]] client::Stop& stop() { return stop_; }
  [[nodiscard]] std::string out() const { return content(out_fd_); }
  [[nodiscard]] std::string err() const { return content(err_fd_); }

 private:
  static std::string content(int fd) {
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::pread(fd, buffer, sizeof buffer, static_cast<off_t>(text.size()))) > 0;) {
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
  }

  int out_fd_;
  int err_fd_;
  Output out_;
  Output err_;
  client::Stop stop_;
  client::Credentials credentials_;
};

}  // namespace agentd::cli
