// SPDX-License-Identifier: MIT
#include "bench/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_line.hpp"

namespace kpl {
namespace {

constexpr BenchRow rows[] = {
#define ROW(name, load, state, what, script) {name, Load::load, state, what, script},
#include "bench/rows.def"
#undef ROW
};

constexpr Recorded recorded_rows[] = {
#define RECORDED(machine, source, ...) {machine, source, {__VA_ARGS__}},
#include "bench/recorded.def"
#undef RECORDED
};

std::string number(double value) { return fmt::format("{:.{}f}", value, value < 10 ? 1 : 0); }

Figure per_call(std::span<const Round> rounds, double (*amount)(const Round&)) {
    std::vector<double> all;
    for (const Round& round : rounds) all.push_back(amount(round) / static_cast<double>(round.calls));
    return figure_of(std::move(all));
}

std::optional<Figure> per_hit(std::span<const Round> without, std::span<const Round> with,
                              double (*amount)(const Round&)) {
    const Figure base = per_call(without, amount);
    std::vector<double> all;
    double shake = 0;  // what the calls alone differ by, for a hit
    for (const Round& round : with) {
        if (!round.hits) return std::nullopt;
        const auto calls = static_cast<double>(round.calls), hits = static_cast<double>(round.hits);
        all.push_back((amount(round) - calls * base.median) / hits);
        shake = std::max(shake, (base.high - base.low) * calls / hits);
    }
    const Figure figure = figure_of(std::move(all));
    if (figure.median <= 0 || figure.median < shake) return std::nullopt;
    return figure;
}

Json json_figure(const std::optional<Figure>& figure) {
    if (!figure) return nullptr;
    const auto rounded = [](double value) { return std::round(value * 10) / 10; };
    return {{"median", rounded(figure->median)}, {"low", rounded(figure->low)}, {"high", rounded(figure->high)}};
}

// A line of the comparison: columns that have nothing stay empty.
std::string compared(std::string_view machine, std::span<const std::string> columns, std::string_view source) {
    std::string line = fmt::format("{:<30}", machine);
    for (const std::string& column : columns) line += fmt::format("{:>7}", column);
    if (!source.empty()) line += fmt::format("  {}", source);
    line.resize(line.find_last_not_of(' ') + 1);
    return line + "\n";
}

std::string print_recorded(const BenchReport& report) {
    std::vector<std::string> names, here;
    for (size_t i = 0; i < recorded_columns; i++) {
        names.emplace_back(rows[i].name);
        here.push_back(i < report.rows.size() && report.rows[i].ns ? number(report.rows[i].ns->median) : "-");
    }
    std::string text = "\nBeside the kernel's documents, in ns\n" + compared("MACHINE", names, "SOURCE") +
                       compared("this one", here, "");
    for (const Recorded& row : recorded_rows) {
        std::vector<std::string> columns;
        for (const unsigned ns : row.ns) columns.push_back(ns ? std::to_string(ns) : "");
        text += compared(row.machine, columns, row.source);
    }
    return text;
}

}  // namespace

std::span<const BenchRow> bench_rows() { return rows; }
std::span<const Recorded> recorded() { return recorded_rows; }

Figure figure_of(std::vector<double> rounds) {
    if (rounds.empty()) return {};
    std::sort(rounds.begin(), rounds.end());
    const auto at = [&](double part) {
        const double where = part * static_cast<double>(rounds.size() - 1);
        const auto below = static_cast<size_t>(where);
        const size_t above = std::min(below + 1, rounds.size() - 1);
        return rounds[below] + (rounds[above] - rounds[below]) * (where - static_cast<double>(below));
    };
    return {at(0.5), at(0.25), at(0.75)};
}

Measured measured(std::span<const Round> without, std::span<const Round> with) {
    Measured out;
    for (const Round& round : with) out.hits += round.hits;
    if (out.hits == 0) {
        out.why = "no hit in all the rounds";
        return out;
    }
    out.ns = per_hit(without, with, [](const Round& round) { return round.ns; });
    if (!out.ns) out.why = "the calls alone differ by more, from round to round";
    const auto counts = [](const Round& round) { return round.instructions.has_value(); };
    if (std::all_of(without.begin(), without.end(), counts) && std::all_of(with.begin(), with.end(), counts))
        out.instructions = per_hit(without, with, [](const Round& round) { return *round.instructions; });
    return out;
}

std::string print_bench(const BenchReport& report) {
    std::string text = fmt::format(
        "{}, {}\nA hit whose handler adds to a count, without the call that is hit\n\n"
        "{:<11}{:>9} {:>16}{:>14}  {}\n",
        report.kernel, report.cpu, "PROBE", "NS", "MIDDLE HALF", "INSTRUCTIONS", "WHAT");
    for (size_t i = 0; i < report.rows.size(); i++) {
        const Measured& row = report.rows[i];
        const std::string between =
            row.ns ? fmt::format("{} to {}", number(row.ns->low), number(row.ns->high)) : std::string("-");
        text += fmt::format("{:<11}{:>9} {:>16}{:>14}  {}{}\n", rows[i].name, row.ns ? number(row.ns->median) : "-",
                            between, row.instructions ? number(row.instructions->median) : "-", rows[i].what,
                            row.why.empty() ? "" : ": " + row.why);
    }
    text += print_recorded(report);
    if (!report.no_instructions.empty())
        text += fmt::format("\nInstructions are not counted: {}\n", report.no_instructions);
    if (!report.doubts.empty()) text += "\nWhat disturbs these figures\n";
    for (const std::string& doubt : report.doubts) text += fmt::format("  {}\n", doubt);
    return text;
}

std::string json_bench(const BenchReport& report) {
    const auto or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
    std::string text = json_line("bench_machine", {{"kernel", report.kernel},
                                                   {"cpu", report.cpu},
                                                   {"instructions_not_counted", or_null(report.no_instructions)}});
    for (size_t i = 0; i < report.rows.size(); i++) {
        const Measured& row = report.rows[i];
        text += json_line("bench", {{"probe", rows[i].name},
                                    {"what", rows[i].what},
                                    {"ns", json_figure(row.ns)},
                                    {"instructions", json_figure(row.instructions)},
                                    {"hits", row.hits},
                                    {"why", or_null(row.why)}});
    }
    for (const Recorded& row : recorded_rows) {
        Json ns = Json::object();
        for (size_t i = 0; i < recorded_columns; i++)
            if (row.ns[i]) ns[rows[i].name] = row.ns[i];
        text += json_line("bench_recorded", {{"machine", row.machine}, {"source", row.source}, {"ns", ns}});
    }
    for (const std::string& doubt : report.doubts) text += json_line("bench_doubt", {{"what", doubt}});
    return text;
}

}  // namespace kpl
