// SPDX-License-Identifier: MIT
#include "command/loop.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace kpl;

TEST_CASE("signals are a loop's for as long as it lives") {
    ::signal(SIGUSR1, SIG_IGN);
    int told = 0;
    {
        Loop loop = Loop::create().value();
        loop.on_signal([&](int signal) { told = signal; });
        ::raise(SIGUSR1);
        CHECK(loop.wait(0, -1));
    }
    CHECK(told == SIGUSR1);
    const UniqueFd next(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));  // of the number that was the loop's
    ::raise(SIGUSR1);
    uint64_t count = 0;
    CHECK(::read(next.get(), &count, sizeof count) < 0);
    CHECK(::signal(SIGUSR1, SIG_DFL) == SIG_IGN);
}
