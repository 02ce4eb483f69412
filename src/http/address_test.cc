// The gate's table, address by address: both ends of each range, and what stands right beside it.
#include "http/address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <string>

namespace agentd::http {
namespace {

// "" for a public address.
std::string kind_of(const std::string& text) {
  sockaddr_storage address{};
  auto& generic = reinterpret_cast<sockaddr&>(address);
  if (text.contains(':')) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
    v6.sin6_family = AF_INET6;
    if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) != 1) return "no address";
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address);
    v4.sin_family = AF_INET;
    if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) != 1) return "no address";
  }
  return std::string(special_range(generic).value_or(""));
}

struct Row {
  const char* kind;
  std::initializer_list<const char*> addresses;
};

TEST(Address, OfTheSpecialRangesOfIPv4IsNotPublic) {
  const Row rows[] = {
      {"unspecified", {"0.0.0.0", "0.1.2.3", "0.255.255.255"}},
      {"private", {"10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255"}},
      {"shared (carrier-grade NAT)", {"100.64.0.0", "100.127.255.255"}},
      {"loopback", {"127.0.0.0", "127.0.0.1", "127.255.255.255"}},
      {"link-local", {"169.254.0.0", "169.254.169.254", "169.254.255.255"}},
      {"reserved", {"192.0.0.0", "192.0.0.255", "240.0.0.0", "255.255.255.255"}},
      {"documentation", {"192.0.2.0", "192.0.2.255", "198.51.100.0", "198.51.100.255", "203.0.113.0", "203.0.113.255"}},
      {"6to4", {"192.88.99.0", "192.88.99.255"}},
      {"benchmarking", {"198.18.0.0", "198.19.255.255"}},
      {"multicast", {"224.0.0.0", "239.255.255.255"}},
  };
  for (const auto& [kind, addresses] : rows) {
    for (const char* address : addresses) EXPECT_EQ(kind_of(address), kind) << address;
  }
}

TEST(Address, OfIPv4BesideTheSpecialRangesIsPublic) {
  for (const char* address :
       {"1.0.0.0",         "9.255.255.255",   "11.0.0.0",      "100.63.255.255", "100.128.0.0",     "126.255.255.255",
        "128.0.0.0",       "169.253.255.255", "169.255.0.0",   "172.15.255.255", "172.32.0.0",      "191.255.255.255",
        "192.0.1.0",       "192.0.3.0",       "192.88.98.255", "192.88.100.0",   "192.167.255.255", "192.169.0.0",
        "198.17.255.255",  "198.20.0.0",      "198.51.99.255", "198.51.101.0",   "203.0.112.255",   "203.0.114.0",
        "223.255.255.255", "8.8.8.8"}) {
    EXPECT_EQ(kind_of(address), "") << address;
  }
}

TEST(Address, OfTheSpecialRangesOfIPv6IsNotPublic) {
  const Row rows[] = {
      {"unspecified", {"::"}},
      {"loopback", {"::1"}},
      {"reserved",
       {"::2", "::127.0.0.1", "::8.8.8.8", "100::1", "64:ff9b:1::8.8.8.8", "2001::", "2001::8.8.8.8",
        "2001:1ff:ffff::", "1fff:ffff::", "4000::", "5f00::1", "fec0::1", "fe00::1"}},
      {"documentation", {"2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::", "3fff:fff:ffff::"}},
      {"6to4", {"2002::", "2002:808:808::", "2002:7f00:1::1", "2002:ffff:ffff::"}},
      {"private", {"fc00::", "fd00:ec2::254", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}},
      {"link-local", {"fe80::", "fe80::1", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}},
      {"multicast", {"ff00::", "ff02::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}},
  };
  for (const auto& [kind, addresses] : rows) {
    for (const char* address : addresses) EXPECT_EQ(kind_of(address), kind) << address;
  }
}

TEST(Address, OfGlobalUnicastOfIPv6IsPublic) {
  for (const char* address : {"2000::", "2001:200::", "2001:4860:4860::8888", "2001:db7:ffff::", "2001:db9::", "2003::",
                              "2606:4700::1111", "3ffe:ffff::", "3fff:1000::"}) {
    EXPECT_EQ(kind_of(address), "") << address;
  }
}

TEST(Address, ThatCarriesOneOfIPv4IsJudgedByThat) {
  EXPECT_EQ(kind_of("::ffff:127.0.0.1"), "loopback");
  EXPECT_EQ(kind_of("::ffff:10.1.2.3"), "private");
  EXPECT_EQ(kind_of("::ffff:169.254.169.254"), "link-local");
  EXPECT_EQ(kind_of("::ffff:8.8.8.8"), "");
  EXPECT_EQ(kind_of("64:ff9b::127.0.0.1"), "loopback");
  EXPECT_EQ(kind_of("64:ff9b::192.168.0.1"), "private");
  EXPECT_EQ(kind_of("64:ff9b::8.8.8.8"), "");
}

TEST(Address, OfAnotherFamilyIsNotPublic) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  EXPECT_EQ(special_range(reinterpret_cast<const sockaddr&>(address)), "no address of the Internet");
}

}  // namespace
}  // namespace agentd::http
