// The words of --help: what each command is for, how it is called, and examples that work as they stand.
#pragma once

#include <string_view>

namespace agentd::cli {

struct Help {
  std::string_view about;
  std::string_view usage;
  std::string_view examples;
};

extern const Help kTopHelp;
extern const Help kServeHelp;
extern const Help kCheckHelp;
extern const Help kSendHelp;
extern const Help kTasksHelp;
extern const Help kTasksShowHelp;
extern const Help kTasksCancelHelp;
extern const Help kEventsHelp;
extern const Help kStatusHelp;
extern const Help kPsHelp;
extern const Help kPauseHelp;
extern const Help kResumeHelp;
extern const Help kDrainHelp;
extern const Help kSetHelp;
extern const Help kConfigHelp;
extern const Help kCompletionHelp;
extern const Help kLoginHelp;
extern const Help kLogoutHelp;
extern const Help kDevicesHelp;
extern const Help kDevicesApproveHelp;
extern const Help kDevicesDenyHelp;
extern const Help kSessionsHelp;
extern const Help kSessionsRevokeHelp;
extern const Help kDemoHelp;

}  // namespace agentd::cli
