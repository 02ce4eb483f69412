// The network as the tests of the client see it: names and one public address of their own. No packet of theirs leaves this machine.
//
//   inside.test    127.0.0.1
//   outside.test   kPublicAddress, and a connection to that is one to 127.0.0.1
//   both.test      10.0.0.1, then kPublicAddress
//   *.invalid      no such name
//   slow.test      no answer before SlowNames is destroyed
//
// They stand in for the C library's own functions in the program that this is linked into; every other name and address is as ever.
#pragma once

namespace agentd::http {

inline constexpr char kPublicAddress[] = "9.9.9.9";

// As long as one lives, slow.test is being resolved by whoever asked.
class SlowNames final {
 public:
  SlowNames();
  ~SlowNames();
  SlowNames(const SlowNames&) = delete;
  SlowNames& operator=(const SlowNames&) = delete;

  void await_question();  // until somebody has asked; bounded
};

}  // namespace agentd::http
