#include "ssebench/options.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <sstream>

namespace ssebench {
namespace {

constexpr const char* kUsage =
    "ssebench --url http://HOST:PORT/PATH [options]\n"
    "  -c N                 SSE connections (100)     -t N  receiver threads (1)\n"
    "  -d SEC / -w SEC      measured time per step (5) / warm-up (1)\n"
    "  -H 'K: V'            request header, repeatable; {i} = connection index\n"
    "  --post BODY|@FILE    subscribe with POST; {i} as above\n"
    "  --pub-url URL        built-in publisher (HTTP POST)\n"
    "  --pub-rates A,B,..   messages/s per step; 0 = closed loop (default 0)\n"
    "  --pub-size B         body size via {pad} (300)  --pub-conns K  (1)\n"
    "  --pub-body TEMPLATE  uses {seq} {ts} {pad}      --pub-header 'K: V'\n"
    "  --pub-close          new publisher connection per message\n"
    "  --ts-key / --seq-key payload keys (ts_ns, seq); empty disables\n"
    "  --ts-ms              the timestamps are in ms, cut; latencies are up to 1 ms too long\n"
    "  --clock mono|real    clock of the timestamps (mono)\n"
    "  --pid P[,P..]        sample CPU and memory of the server\n"
    "  --stall N            first N connections stop reading after the header\n"
    "  --reconnect MS       reconnect with Last-Event-ID after MS\n"
    "  --src-ips N          spread sources over 127.0.0.2..   --rcvbuf B\n"
    "  --inflight N         concurrent connects (128)  --cpu N  pin receivers\n"
    "  --dump               print head and first payloads of connection 0\n"
    "  --json               one JSON object when all are connected, and one per step";

std::vector<double> parse_list(const std::string& text) {
  std::vector<double> values;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    if (!word.empty()) values.push_back(std::stod(word));
  }
  return values;
}

std::string text_or_file(const std::string& value) {
  if (!value.starts_with("@")) return value;
  std::ifstream file(value.substr(1));
  return {std::istreambuf_iterator<char>(file), {}};
}

using Setter = std::function<void(const std::string&)>;

std::map<std::string, Setter> setters_with_value(Options& o) {
  const auto text = [](std::string& to) { return [&to](const std::string& value) { to = value; }; };
  const auto number = [](int& to) { return [&to](const std::string& value) { to = std::stoi(value); }; };
  const auto real = [](double& to) { return [&to](const std::string& value) { to = std::stod(value); }; };
  const auto item = [](std::vector<std::string>& to) {
    return [&to](const std::string& value) { to.push_back(value); };
  };
  return {
      {"--url", [&o](const std::string& value) { o.url = parse_url(value), o.has_url = true; }},
      {"-c", number(o.connections)},
      {"-t", number(o.threads)},
      {"-d", real(o.duration)},
      {"-w", real(o.warmup)},
      {"-H", item(o.headers)},
      {"--post", [&o](const std::string& value) { o.post = text_or_file(value), o.has_post = true; }},
      {"--pub-url", [&o](const std::string& value) { o.pub_url = parse_url(value), o.has_pub = true; }},
      {"--pub-rates", [&o](const std::string& value) { o.rates = parse_list(value); }},
      {"--pub-size", number(o.pub_size)},
      {"--pub-conns", number(o.pub_conns)},
      {"--pub-body", text(o.pub_body)},
      {"--pub-header", item(o.pub_headers)},
      {"--ts-key", text(o.ts_key)},
      {"--seq-key", text(o.seq_key)},
      {"--clock",
       [&o](const std::string& value) { o.clock = value == "real" ? ClockKind::kWall : ClockKind::kMonotonic; }},
      {"--pid",
       [&o](const std::string& value) {
         for (const double pid : parse_list(value)) o.pids.push_back(static_cast<int>(pid));
       }},
      {"--stall", number(o.stall)},
      {"--reconnect", number(o.reconnect_ms)},
      {"--src-ips", number(o.src_ips)},
      {"--rcvbuf", number(o.rcvbuf)},
      {"--inflight", number(o.inflight)},
      {"--cpu", number(o.cpu)},
  };
}

std::map<std::string, std::function<void()>> setters_without_value(Options& o) {
  return {
      {"--pub-close", [&o] { o.pub_close = true; }},
      {"--ts-ms", [&o] { o.ts_unit_ns = 1'000'000; }},
      {"--dump", [&o] { o.dump_first = true; }},
      {"--json", [&o] { o.json = true; }},
  };
}

}  // namespace

void die(const std::string& what) {
  std::fprintf(stderr, "ssebench: %s\n", what.c_str());
  std::exit(2);
}

Options parse_options(int argc, char** argv) {
  Options options;
  const auto with_value = setters_with_value(options);
  const auto without_value = setters_without_value(options);
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "-h" || name == "--help") {
      std::puts(kUsage);
      std::exit(0);
    }
    if (const auto flag = without_value.find(name); flag != without_value.end()) {
      flag->second();
    } else if (const auto valued = with_value.find(name); valued == with_value.end()) {
      die("unknown option " + name);
    } else if (i + 1 == argc) {
      die("missing value for " + name);
    } else {
      valued->second(argv[++i]);
    }
  }
  if (!options.has_url) die("--url is required; --help lists all options");
  if (options.rates.empty()) options.rates = {0};
  options.threads = std::clamp(options.threads, 1, std::max(1, options.connections));
  return options;
}

}  // namespace ssebench
