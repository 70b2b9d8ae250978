// SPDX-License-Identifier: MIT
// Writes one line for each test case and each data row (innermost section) of this program to the file that
// tests/check counts: $KPL_TEST_REPORTS/unit.NAME for NAME_test. A last line "end" tells that the program got
// there.
#pragma once

#include <errno.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

class CountRows : public Catch::TestEventListenerBase {
  public:
    explicit CountRows(const Catch::ReporterConfig& config) : TestEventListenerBase(config) {
        const char* dir = std::getenv("KPL_TEST_REPORTS");
        std::string name = program_invocation_short_name;
        name = name.substr(0, name.rfind("_test"));
        if (dir) file_.open(std::string(dir) + "/unit." + name);
    }

    void sectionStarting(const Catch::SectionInfo& info) override {
        TestEventListenerBase::sectionStarting(info);
        if (!open_.empty()) open_.back().has_inner = true;
        open_.push_back({info.name, false, false});
    }

    // An outer section counts when it failed by itself: its inner ones speak for the rest.
    void sectionEnded(const Catch::SectionStats& stats) override {
        TestEventListenerBase::sectionEnded(stats);
        const Open ended = open_.back();
        const bool failed = stats.assertions.failed > 0;
        if (!ended.has_inner || (failed && !ended.inner_failed)) write(failed);
        open_.pop_back();
        if (!open_.empty() && failed) open_.back().inner_failed = true;
    }

    void testRunEnded(const Catch::TestRunStats& stats) override {
        TestEventListenerBase::testRunEnded(stats);
        file_ << "end\n" << std::flush;
    }

  private:
    struct Open {
        std::string name;
        bool has_inner, inner_failed;
    };

    // Flushed each time: what comes next may crash.
    void write(bool failed) {
        file_ << (failed ? "fail" : "pass");
        for (const Open& section : open_) file_ << " / " << section.name;
        file_ << std::endl;
    }

    std::ofstream file_;
    std::vector<Open> open_;
};

CATCH_REGISTER_LISTENER(CountRows)
