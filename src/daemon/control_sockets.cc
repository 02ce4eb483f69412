#include "daemon/control_sockets.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>

#include "base/folders.h"
#include "base/log.h"

namespace agentd::daemon {
namespace {

namespace fs = std::filesystem;

// Of a URL as a listener has it: "http", "[::1]", "8420".
struct Place {
  std::string_view scheme, host, port;
};

Place place_of(std::string_view url) {
  const std::size_t host = url.find("://") + 3;
  const std::size_t port = url.rfind(':') + 1;
  return {.scheme = url.substr(0, host - 3), .host = url.substr(host, port - 1 - host), .port = url.substr(port)};
}

bool is_unix(std::string_view url) { return url.starts_with("unix:"); }

Result<std::unique_ptr<net::Listener>> open_at(const std::string& path) {
  if (path.empty()) {
    return fail(Code::kUnavailable,
                "there is no place for one: none of XDG_RUNTIME_DIR, XDG_STATE_HOME and HOME is set");
  }
  const fs::path folder = fs::path(path).parent_path();
  std::error_code ignored;  // what is missing then is found below
  fs::create_directories(folder.parent_path(), ignored);
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return fail(Code::kUnavailable,
                fmt::format("the folder {} cannot be made: {}", folder.string(), std::strerror(errno)));
  }
  return net::Listener::open("unix://" + path);
}

}  // namespace

std::vector<std::unique_ptr<net::Listener>> open_control_sockets(const std::vector<std::string>& urls) {
  std::set<std::string_view> ports;
  for (const std::string& url : urls) {
    if (!is_unix(url)) ports.insert(place_of(url).port);
  }
  std::vector<std::unique_ptr<net::Listener>> out;
  for (const std::string_view port : ports) {
    if (auto listener = open_at(control_socket(port))) {
      out.push_back(*std::move(listener));
    } else {
      log::warn("no control socket: commands of the daemon's own user need a token or a login too",
                {{"port", port}, {"reason", listener.error().message}});
    }
  }
  return out;
}

std::vector<std::string> local_origins(const std::vector<std::string>& urls) {
  std::vector<std::string> out;
  for (const std::string& url : urls) {
    if (is_unix(url)) continue;
    const auto [scheme, host, port] = place_of(url);
    std::vector<std::string_view> names = {"localhost"};
    if (host == "0.0.0.0" || host == "[::]") {
      names.push_back("127.0.0.1");
      if (host == "[::]") names.push_back("[::1]");
    } else if (host == "[::1]" || host.starts_with("127.")) {
      names.push_back(host);
    } else {
      continue;
    }
    const bool usual = (scheme == "http" && port == "80") || (scheme == "https" && port == "443");
    for (const std::string_view name : names) {
      out.push_back(fmt::format("{}://{}{}{}", scheme, name, usual ? "" : ":", usual ? "" : port));
    }
  }
  return out;
}

}  // namespace agentd::daemon
