// SPDX-License-Identifier: MIT
// Progress: tells, from a thread of its own, how far the attach call of the main thread has come.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "device/device.hpp"

namespace kpl {

class Progress {
  public:
    // On a terminal one line that is rewritten and goes away at the end; else, if `lines`, a line a second. Calls that
    // last less than half a second show nothing.
    Progress(const Device& device, bool lines);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress();

  private:
    void run(const Device& device, bool terminal);

    std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false;
    std::thread thread_;
};

}  // namespace kpl
