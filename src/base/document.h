// A YAML or JSON text from a person: its value, and where in the text each member stands.
//
// Used for everything a person writes (configuration, workflows, rules of the scripted model), so that each
// fault can be reported with file and line. Thread rule: values. Bounds: 2 MiB, 64 levels, 4,096 members of
// one mapping, no more than 100,000 nodes and 4 MiB of text after aliases are expanded; the first 100 faults.
// YAML 1.2 core scalars: true/false, null/~, integers, floats; a quoted scalar is a string. Faults, never
// silently merged or dropped: duplicate keys, keys that are not strings, merge keys (<<), tags other than
// !!str, a second document. A fault's text never quotes a value: it may be a secret put in the wrong place.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace agentd {

// One thing wrong in a document. `path` is the dotted path of the member ("a2a.events.ring",
// "workflows[0].steps.count"), empty for the document as a whole.
struct Fault {
  std::string file = {};
  int line = 0;    // from 1; 0 = unknown
  int column = 0;  // from 1; 0 = unknown
  std::string path = {};
  std::string message = {};   // what is wrong, and the nearest right spelling when there is one
  std::string expected = {};  // what would be right: "a duration such as 30s"; may be empty
};

// "rules.yaml:12:3: a2a.events.ring: is not an integer; expected an integer from 1"
[[nodiscard]] std::string to_string(const Fault& fault);

struct Mark {
  std::string file;
  int line = 0;
  int column = 0;
};

struct Document {
  std::string file = {};
  Json value = {};
  std::map<std::string, Mark, std::less<>> marks = {};  // dotted path -> where its key (or item) stands; "" = the root

  // The mark of `path`, or of its nearest ancestor that has one.
  [[nodiscard]] Mark locate(std::string_view path) const;
};

// All the faults of the text, or its document.
[[nodiscard]] std::expected<Document, std::vector<Fault>> parse_document(std::string_view text, std::string file);
// The same from a file; an unreadable file is one fault that says why.
[[nodiscard]] std::expected<Document, std::vector<Fault>> read_document(const std::string& file);

// The candidate nearest to `word` by edit distance (at most a third of its length away), or "".
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace agentd
