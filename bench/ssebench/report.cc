#include "ssebench/report.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <string>

namespace ssebench {
namespace {

double ratio(const Cell& of, const Cell& to) {
  return to == 0 ? 0 : static_cast<double>(of.load()) / static_cast<double>(to.load());
}

std::string core_shares(const Step& step, bool json) {
  std::string text;
  const std::size_t cores = std::min({step.before.cores.size(), step.after.cores.size(), std::size_t{16}});
  for (std::size_t i = 0; i < cores; ++i) {
    const auto &before = step.before.cores[i], &after = step.after.cores[i];
    const double all = std::max(1.0, after[2] - before[2]);
    std::array<char, 32> word{};
    std::snprintf(word.data(), word.size(), json ? "%.0f" : "%.0f%%", (after[0] - before[0]) / all * 100);
    if (i > 0) text += json ? "," : "/";
    text += word.data();
    if (const double stolen = (after[1] - before[1]) / all * 100; !json && stolen >= 1) {
      std::snprintf(word.data(), word.size(), "(st%.0f)", stolen);
      text += word.data();
    }
  }
  return text;
}

}  // namespace

void Report::opened(const Opened& opened) {
  const int ready = shared_.ready;
  if (ready > 0) kb_per_connection_ = (opened.idle.pss_mb - opened.before.pss_mb) * 1024 / ready;
  std::printf(options_.json ? "{\"connected\":%d,\"wanted\":%d,\"failed\":%d,\"connect_s\":%.2f,\"rss_before_mb\":%.1f,"
                              "\"rss_mb\":%.1f,\"user_kb_per_conn\":%.3f,\"tcp_mb\":%.1f}\n"
                            : "connected %d/%d (failed %d) in %.2f s | server RSS %.1f -> %.1f MB, PSS %.2f KB/conn "
                              "(user), tcp mem %.1f MB\n",
              ready, options_.connections, shared_.failed.load(), opened.seconds, opened.before.rss_mb,
              opened.idle.rss_mb, kb_per_connection_, opened.idle.tcp_mb);
  std::fflush(stdout);
}

void Report::heading() const {
  if (options_.json) return;
  std::printf("%9s %9s %11s %9s %9s %9s %9s %9s %9s %7s %8s %8s %7s %7s %8s\n", "target/s", "pub/s", "deliv/s", "MB/s",
              "p50_us", "p90_us", "p99_us", "p99.9_us", "max_us", "ev/read", "ev/write", "lost", "dups", "cpu%",
              "rss_MB  cores");
}

void Report::step(std::size_t number, const Step& step) const {
  const auto stats = std::make_unique<Stats>();
  for (const auto& receiver : receivers_) stats->merge(receiver->stats(number));
  if (options_.json) {
    print_json(step, *stats);
  } else {
    print_text(step, *stats);
  }
  std::fflush(stdout);
}

void Report::print_json(const Step& step, const Stats& stats) const {
  const auto first_data = std::make_unique<Histogram>();
  for (const auto& receiver : receivers_) first_data->merge(receiver->first_data());
  const auto us = [&](double share) { return static_cast<double>(stats.latency.quantile(share)) / 1e3; };
  const double cpu_s = step.after.cpu_s - step.before.cpu_s;
  std::printf("{\"target_rate\":%.1f,\"seconds\":%.3f,\"published\":%" PRIu64
              ",\"published_per_s\":%.1f,\"deliveries\":%" PRIu64
              ",\"deliveries_per_s\":%.0f,\"bytes_per_s\":%.0f,"
              "\"p50_us\":%.1f,\"p90_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f,"
              "\"events_per_read\":%.3f,\"events_per_write\":%.3f,",
              step.rate, step.seconds, step.published, static_cast<double>(step.published) / step.seconds,
              stats.events.load(), static_cast<double>(stats.events) / step.seconds,
              static_cast<double>(stats.bytes) / step.seconds, us(.5), us(.9), us(.99), us(.999), us(1),
              ratio(stats.events, stats.reads), ratio(stats.events, stats.segments));
  std::printf("\"gaps\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"dups\":%" PRIu64 ",\"comments\":%" PRIu64
              ",\"cpu_s\":%.4f,\"cpu_pct\":%.1f,\"rss_mb\":%.1f,\"pss_mb\":%.1f,\"tcp_mb\":%.1f,"
              "\"user_kb_per_conn\":%.3f,\"first_data_p50_ms\":%.1f,\"first_data_max_ms\":%.1f,",
              stats.gaps.load(), stats.lost.load(), stats.dups.load(), stats.comments.load(), cpu_s,
              cpu_s / step.seconds * 100, step.after.rss_mb, step.after.pss_mb, step.after.tcp_mb, kb_per_connection_,
              static_cast<double>(first_data->quantile(.5)) / 1e6, static_cast<double>(first_data->quantile(1)) / 1e6);
  std::printf("\"connections\":%d,\"closed\":%d,\"stalled_closed\":%d,\"reconnects\":%d,\"pub_errors\":%" PRIu64
              ",\"core_busy\":[%s]}\n",
              shared_.ready.load(), shared_.closed.load(), shared_.stalled_closed.load(), shared_.reconnects.load(),
              shared_.pub_errors.load(), core_shares(step, true).c_str());
}

void Report::print_text(const Step& step, const Stats& stats) const {
  const auto us = [&](double share) { return static_cast<double>(stats.latency.quantile(share)) / 1e3; };
  std::printf(
      "%9.0f %9.1f %11.0f %9.1f %9.0f %9.0f %9.0f %9.0f %9.0f %7.2f %8.2f %8" PRIu64 " %7" PRIu64 " %7.1f %8.1f  %s\n",
      step.rate, static_cast<double>(step.published) / step.seconds, static_cast<double>(stats.events) / step.seconds,
      static_cast<double>(stats.bytes) / step.seconds / 1e6, us(.5), us(.9), us(.99), us(.999), us(1),
      ratio(stats.events, stats.reads), ratio(stats.events, stats.segments), stats.lost.load(), stats.dups.load(),
      (step.after.cpu_s - step.before.cpu_s) / step.seconds * 100, step.after.rss_mb, core_shares(step, false).c_str());
}

void Report::ended() const {
  if (options_.json) return;
  std::printf("open %d closed-by-server %d stalled-closed %d/%d reconnects %d publish-errors %" PRIu64 "\n",
              shared_.ready.load(), shared_.closed.load(), shared_.stalled_closed.load(), options_.stall,
              shared_.reconnects.load(), shared_.pub_errors.load());
}

}  // namespace ssebench
