#include "runtime/conversations.h"

#include <algorithm>
#include <utility>

#include "base/ids.h"

namespace agentd::runtime {
namespace {

// A coarse measure that needs no tokenizer: four bytes of JSON are about one token.
std::uint64_t estimate_tokens(const std::string& text) { return text.size() / 4 + 1; }

bool is_conversation_id(const std::string& text) {
  return text.size() == 20 && text.starts_with("ctx-") &&
         text.find_first_not_of("0123456789abcdef", 4) == std::string::npos;
}

store::ConversationRow to_row(const Conversation& c) {
  Json body = {{"version", c.version}, {"messages", c.messages}, {"est_tokens", c.est_tokens}, {"turns", c.turns}};
  if (!c.skills.empty()) body["skills"] = c.skills;
  return {
      .id = c.id, .principal = c.principal, .context = c.context, .updated_ms = c.updated_ms, .body = dump_json(body)};
}

Result<Conversation> from_row(const store::ConversationRow& row) {
  try {
    const Json body = Json::parse(row.body);
    return Conversation{.id = row.id,
                        .principal = row.principal,
                        .context = row.context,
                        .version = body.at("version"),
                        .messages = body.at("messages"),
                        .est_tokens = body.at("est_tokens"),
                        .turns = body.at("turns"),
                        .updated_ms = row.updated_ms,
                        .skills = body.value("skills", std::vector<std::string>{})};
  } catch (const std::exception& error) {
    return fail(Code::kUnavailable, "conversation " + row.id + " cannot be read from the store: " + error.what());
  }
}

}  // namespace

Conversations::Conversations(Journal& journal, feed::Feed& feed, const Clock& clock, config::Retention retention)
    : journal_(journal), feed_(feed), clock_(clock), retention_(retention) {
  journal_.add_source([this](store::Batch& batch) { append_rows(batch); });
}

Status Conversations::load() {
  auto rows = journal_.store().conversations();
  if (!rows) return std::unexpected(rows.error());
  for (const store::ConversationRow& row : *rows) {
    auto conversation = from_row(row);
    if (!conversation) return std::unexpected(conversation.error());
    by_context_[{row.principal, row.context}] = row.id;
    by_age_.emplace(row.updated_ms, row.id);
    by_id_[row.id] = std::move(*conversation);
  }
  return {};
}

Conversation& Conversations::open(const std::string& principal, const std::string& context) {
  const auto known = by_context_.find({principal, context});
  if (known != by_context_.end()) return by_id_.at(known->second);
  const bool root = principal == "operator" && context == "root";
  // A context that we minted keeps its name, as long as nobody else's conversation has it.
  const bool own_name = root || (is_conversation_id(context) && !by_id_.contains(context));
  Conversation fresh{.id = own_name ? context : "ctx-" + random_hex(16),
                     .principal = principal,
                     .context = context,
                     .updated_ms = clock_.wall_ms()};
  make_room(std::max<std::size_t>(retention_.keep_last, 1) - 1);
  by_context_[{principal, context}] = fresh.id;
  by_age_.emplace(fresh.updated_ms, fresh.id);
  return by_id_.emplace(fresh.id, std::move(fresh)).first->second;
}

void Conversations::add(Conversation& conversation, const Json& message, bool turn) {
  const std::string body = dump_json(message);
  conversation.messages += 1;
  conversation.turns += turn ? 1 : 0;
  conversation.est_tokens += estimate_tokens(body);
  pending_.emplace_back(store::MessageRow{
      .conversation = conversation.id, .number = static_cast<std::int64_t>(conversation.messages), .body = body});
  changed(conversation);
}

void Conversations::note_skill(Conversation& conversation, const std::string& skill) {
  if (std::ranges::find(conversation.skills, skill) != conversation.skills.end()) return;
  conversation.skills.push_back(skill);
  changed(conversation);
}

void Conversations::changed(Conversation& conversation) {
  conversation.shown.clear();
  conversation.version += 1;
  by_age_.erase({conversation.updated_ms, conversation.id});
  conversation.updated_ms = clock_.wall_ms();
  by_age_.emplace(conversation.updated_ms, conversation.id);
  dirty_.insert(conversation.id);
  journal_.touched();
  feed_.push(feed::Visibility::owner(conversation.principal), payload(conversation));
}

const Conversation* Conversations::find(const std::string& principal, const std::string& context) const {
  const auto at = by_context_.find({principal, context});
  return at == by_context_.end() ? nullptr : &by_id_.at(at->second);
}

feed::Conversation Conversations::payload(const Conversation& c) {
  return {.id = c.id,
          .context_id = c.context,
          .kind = c.id == "root" ? "root" : "context",
          .version = c.version,
          .messages = c.messages,
          .est_tokens = c.est_tokens,
          .turns = c.turns,
          .principal = c.principal.empty() ? std::nullopt : std::optional(c.principal),
          .skills = c.skills,
          .plan = {},
          .updated = static_cast<feed::Count>(c.updated_ms)};
}

void Conversations::append_rows(store::Batch& batch) {
  // First what is pending: a conversation may have been dropped and made again under its id.
  std::ranges::move(pending_, std::back_inserter(batch));
  pending_.clear();
  for (const std::string& id : dirty_) {
    if (const auto at = by_id_.find(id); at != by_id_.end()) batch.emplace_back(to_row(at->second));
  }
  dirty_.clear();
}

void Conversations::make_room(std::size_t most) {
  const std::int64_t now = clock_.wall_ms();
  for (auto at = by_age_.begin(); at != by_age_.end();) {
    const auto [updated_ms, id] = *at++;  // before it goes
    const bool old = retention_.ttl_ms > 0 && updated_ms + retention_.ttl_ms <= now;
    if (!old && by_age_.size() <= most) break;
    if (!is_in_use_(by_id_.at(id))) drop(id);
  }
}

void Conversations::drop(const std::string& id) {
  const auto node = by_id_.extract(id);
  const Conversation& gone = node.mapped();
  by_context_.erase({gone.principal, gone.context});
  pending_.emplace_back(store::DropConversation{gone.id});
  feed_.push(feed::Visibility::owner(gone.principal), feed::ConversationRemoved{gone.id});
  by_age_.erase({gone.updated_ms, gone.id});
  journal_.touched();
  dropped_(gone);
}

}  // namespace agentd::runtime
