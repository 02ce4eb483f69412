#include "access/source.h"

#include <gtest/gtest.h>

namespace agentd::access {
namespace {

TEST(Source, IsAnAddressOrTheIpv6NetworkOfOneSubscriber) {
  EXPECT_EQ(source_of("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(source_of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  EXPECT_EQ(source_of("2001:db8:1:2:ffff::"), source_of("2001:db8:1:2::1"));
  EXPECT_NE(source_of("2001:db8:1:3::1"), source_of("2001:db8:1:2::1"));
  EXPECT_EQ(source_of("::1"), "::/64");
  EXPECT_EQ(source_of("unix"), "unix");
}

TEST(Source, HasANetworkAroundIt) {
  EXPECT_EQ(network_of("192.0.2.7"), "192.0.2.0/24");
  EXPECT_EQ(network_of("192.0.2.255"), network_of("192.0.2.7"));
  EXPECT_NE(network_of("192.0.3.7"), network_of("192.0.2.7"));
  EXPECT_EQ(network_of("2001:db8:1:2:3:4:5:6"), "2001:db8:1::/48");
  EXPECT_EQ(network_of("unix"), "unix");
}

}  // namespace
}  // namespace agentd::access
