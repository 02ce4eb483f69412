// A secret that the configuration refers to. Value.
#pragma once

#include <string>

namespace agentd::config {

// A secret's value, read from where its reference points. Never printed; `source` is what may be shown.
struct Secret {
  std::string value;
  std::string source;  // "env AGENTD_TOKEN" or "file /path"

  bool operator==(const Secret&) const = default;
};

}  // namespace agentd::config
