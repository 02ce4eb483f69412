#include "cli/grammar.h"

#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "base/document.h"
#include "cli/exit.h"
#include "cli/printable.h"

namespace agentd::cli {
namespace {

constexpr const char* kDefaultUrl = "http://127.0.0.1:8420";

class Usage final : public CLI::Formatter {
 public:
  explicit Usage(std::string line) : line_(std::move(line)) { column_width(28); }
  std::string make_usage(const CLI::App*, std::string) const override { return "Usage: agentd " + line_ + "\n"; }

 private:
  std::string line_;
};

}  // namespace

Said fault(std::string_view command, const std::string& what) {
  const std::string help = command.empty() ? "agentd --help" : fmt::format("agentd {} --help", command);
  return {.exit = kUsage, .text = fmt::format("agentd: {} (see '{}')\n", what, help)};
}

std::string suggestion(std::string_view word, const Words& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? near : fmt::format("; did you mean '{}'?", near);
}

Grammar::Grammar(std::string_view command, const Help& help) : command_(command), app_(std::string(help.about)) {
  app_.formatter(std::make_shared<Usage>(std::string(help.usage)));
  app_.footer(std::string(help.examples));
  // Words that are no options are not CLI11's: it would split "[a,b]" at the comma.
  app_.allow_extras();
}

void Grammar::add_url(client::Endpoint& daemon) {
  daemon.url = kDefaultUrl;
  app_.add_option("--url", daemon.url, fmt::format("The daemon (default {}, or AGENTD_URL)", kDefaultUrl))
      ->envname("AGENTD_URL");
  app_.add_option("--ca", daemon.ca, "The CA of an https:// daemon, a file in PEM (default the system's, or AGENTD_CA)")
      ->envname("AGENTD_CA");
}

void Grammar::add_daemon(client::Endpoint& daemon) {
  add_url(daemon);
  app_.add_option("--token", daemon.token, "The bearer token (default AGENTD_TOKEN, else that of 'agentd login')")
      ->envname("AGENTD_TOKEN");
  daemon_ = &daemon;
}

void Grammar::offer(const std::string& name, Candidates candidates) {
  value_candidates_[app_.get_option(name)] = std::move(candidates);
}

std::expected<Words, Parsed> Grammar::parse(CommandLine line, std::size_t least, std::size_t most) {
  if (line.completing) return std::unexpected(complete(std::move(line.words), most));
  std::ranges::reverse(line.words);  // CLI11 takes them from the back
  try {
    app_.parse(std::move(line.words));
  } catch (const CLI::CallForHelp&) {
    return std::unexpected(Said{.exit = kOk, .text = app_.help()});
  } catch (const CLI::ParseError& error) {
    return std::unexpected(fault(command_, one_line(error.what())));
  }
  return leftovers(least, most);
}

std::expected<Words, Parsed> Grammar::leftovers(std::size_t least, std::size_t most) const {
  Words rest;
  bool only_words = false;
  for (auto& word : app_.remaining()) {
    if (!only_words && word == "--") {
      only_words = true;
    } else if (!only_words && word.size() > 1 && word.front() == '-') {
      return std::unexpected(unknown_option(word));
    } else {
      rest.push_back(std::move(word));
    }
  }
  if (rest.size() < least) return std::unexpected(fault(command_, "something is missing"));
  if (rest.size() > most) {
    return std::unexpected(fault(command_, fmt::format("'{}' is one word too many", one_line(rest[most]))));
  }
  return rest;
}

CompleteOptions Grammar::complete(Words words, std::size_t most) {
  CompleteOptions out{.prefix = std::move(words.back())};
  words.pop_back();
  const CLI::Option* open = words.empty() ? nullptr : option_with_value(words.back());
  if (open != nullptr) words.pop_back();
  std::ranges::reverse(words);
  try {
    app_.parse(std::move(words));
  } catch (const CLI::Error&) {
    return out;  // help, or a fault: nothing that is typed here mends it
  }
  Candidates candidates = open_place(open, out.prefix, most);
  out.words = std::move(candidates.words);
  if (daemon_ != nullptr) {
    out.daemon = *daemon_;
    out.ids = candidates.ids;
  }
  return out;
}

const CLI::Option* Grammar::option_with_value(const std::string& word) const {
  const CLI::Option* option = word.starts_with('-') ? app_.get_option_no_throw(word) : nullptr;
  return option != nullptr && option->get_items_expected_min() > 0 ? option : nullptr;
}

Candidates Grammar::open_place(const CLI::Option* option, const std::string& prefix, std::size_t most) const {
  if (option != nullptr) {
    const auto found = value_candidates_.find(option);
    return found == value_candidates_.end() ? Candidates{} : found->second;
  }
  const std::size_t before = app_.remaining_size();
  if (prefix.starts_with('-') || before >= most) return {.words = option_names()};
  return before < word_candidates_.size() ? word_candidates_[before] : Candidates{};
}

Words Grammar::option_names() const {
  Words names;
  for (const CLI::Option* option : app_.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

Said Grammar::unknown_option(const std::string& word) const {
  return fault(command_, fmt::format("no option '{}'{}", one_line(word),
                                     suggestion(word.substr(0, word.find('=')), option_names())));
}

bool has_verb(const CommandLine& line) { return !line.words.empty() && !line.words[0].starts_with('-'); }

Parsed parse_by(std::span<const CommandRow> rows, std::string_view command, CommandLine line) {
  Words names;
  for (const auto& row : rows) names.emplace_back(row.name);
  if (line.completing && line.words.size() == 1) {
    return CompleteOptions{.prefix = std::move(line.words[0]), .words = std::move(names)};
  }
  const std::string name = std::move(line.words[0]);
  line.words.erase(line.words.begin());
  if (const auto row = std::ranges::find(rows, name, &CommandRow::name); row != rows.end())
    return row->parse(std::move(line));
  return fault(command, fmt::format("no command '{}{}{}'{}", command, command.empty() ? "" : " ", one_line(name),
                                    suggestion(name, names)));
}

}  // namespace agentd::cli
