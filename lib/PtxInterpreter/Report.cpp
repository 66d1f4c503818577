//===- Report.cpp - findings, and their text ------------------------------------------------===//
#include "lib/PtxInterpreter/Machine.h"

#include <nlohmann/json.hpp>

namespace tilewright::ptx {
namespace {

constexpr size_t kMaxFindings = 200;

std::string trimmed(const std::string &text) {
  size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t\r");
  if (begin == std::string::npos)
    return "";
  std::string result;
  for (char c : text.substr(begin, end - begin + 1))
    result += c == '\t' ? ' ' : c;
  return result;
}

Side sideOf(const Grid &grid, const Epoch &epoch) {
  Side side;
  const Statement &statement = grid.code.statement(epoch.pc);
  side.line = statement.line;
  side.instruction = trimmed(grid.code.syntax->lines[statement.line - 1]);
  side.location = grid.code.syntax->locations[statement.location];
  side.warp = epoch.warp;
  side.lane = epoch.lane;
  side.block = grid.started[epoch.block - 1];
  return side;
}

std::string shown(const Side &side) {
  std::string text = "line " + std::to_string(side.line) + ": " + side.instruction + "  [block " +
                     std::to_string(side.block[0]) + "," + std::to_string(side.block[1]) + "," +
                     std::to_string(side.block[2]) + ", warp " + std::to_string(side.warp) + ", " +
                     (side.lane == kSeveralLanes ? "several lanes" : "lane " + std::to_string(side.lane)) + "]";
  if (!side.location.empty())
    text += "  at " + side.location;
  return text;
}

nlohmann::json asJson(const Side &side) {
  return {{"line", side.line},      {"instruction", side.instruction},
          {"place", side.location}, {"block", side.block},
          {"warp", side.warp},      {"lane", side.lane}};
}

} // namespace

const char *name(Kind kind) {
  switch (kind) {
  case Kind::OutOfBounds:
    return "out-of-bounds";
  case Kind::Misaligned:
    return "misaligned";
  case Kind::ReadOnly:
    return "read-only";
  case Kind::UninitialisedMemory:
    return "uninitialised-memory";
  case Kind::UninitialisedRegister:
    return "uninitialised-register";
  case Kind::Race:
    return "race";
  case Kind::AsyncNotWaited:
    return "async-not-waited";
  case Kind::MissingProxyFence:
    return "missing-proxy-fence";
  case Kind::MbarrierMisuse:
    return "mbarrier-misuse";
  case Kind::RegisterInFlight:
    return "register-in-flight";
  case Kind::MissingMatrixFence:
    return "missing-wgmma-fence";
  case Kind::RegisterBudget:
    return "register-budget";
  case Kind::BarrierDivergence:
    return "barrier-divergence";
  case Kind::BarrierMismatch:
    return "barrier-mismatch";
  case Kind::ExitAtBarrier:
    return "exit-at-barrier";
  case Kind::ExitedBlock:
    return "exited-block";
  case Kind::Deadlock:
    return "deadlock";
  case Kind::StepLimit:
    return "step-limit";
  case Kind::BadOperand:
    return "bad-operand";
  }
  return "";
}

void Exec::find(Kind kind, uint32_t lane, const std::string &message, const Epoch *other) {
  std::string key =
      std::to_string(int(kind)) + ":" + std::to_string(pc) + ":" + (other ? std::to_string(other->pc) : "");
  auto [entry, fresh] = grid.findings.try_emplace(key, grid.report.findings.size());
  if (!fresh) {
    if (entry->second < grid.report.findings.size())
      ++grid.report.findings[entry->second].count;
    return;
  }
  if (grid.report.findings.size() >= kMaxFindings) {
    entry->second = kMaxFindings;
    return;
  }
  Finding finding;
  finding.kind = kind;
  finding.kernel = grid.code.kernel;
  finding.message = message;
  finding.here = sideOf(grid, accessor(lane).epoch);
  if (other)
    finding.other = sideOf(grid, *other);
  grid.report.findings.push_back(std::move(finding));
}

std::string Report::text() const {
  std::string text;
  for (const Finding &finding : findings) {
    text += std::string(name(finding.kind)) + " in " + finding.kernel + ": " + finding.message + "\n  " +
            shown(finding.here) + "\n";
    if (finding.other)
      text += "  other side: " + shown(*finding.other) + "\n";
    if (finding.count > 1)
      text += "  seen " + std::to_string(finding.count) + " times\n";
  }
  for (const AccessCost &cost : costs) {
    text += "note: line " + std::to_string(cost.line) + ": " + cost.instruction + ": ";
    if (cost.extraWavefronts)
      text += std::to_string(cost.extraWavefronts) + " bank conflicts in " + std::to_string(cost.executions) +
              " executions";
    else
      text +=
          std::to_string(cost.sectors) + " sectors where " + std::to_string(cost.leastSectors) + " contain the bytes";
    text += "\n";
  }
  text += std::to_string(findings.size()) + (findings.size() == 1 ? " finding" : " findings") + ", " +
          std::to_string(instructions) + " instructions of warps, seed " + std::to_string(seed) +
          (finished ? "\n" : ", not finished\n");
  return text;
}

std::string Report::json() const {
  nlohmann::json root = {{"instructions", instructions}, {"seed", seed}, {"finished", finished}};
  root["findings"] = nlohmann::json::array();
  for (const Finding &finding : findings) {
    nlohmann::json entry = {{"kind", name(finding.kind)},
                            {"kernel", finding.kernel},
                            {"message", finding.message},
                            {"count", finding.count},
                            {"here", asJson(finding.here)}};
    if (finding.other)
      entry["other"] = asJson(*finding.other);
    root["findings"].push_back(std::move(entry));
  }
  root["costs"] = nlohmann::json::array();
  for (const AccessCost &cost : costs)
    root["costs"].push_back({{"line", cost.line},
                             {"instruction", cost.instruction},
                             {"executions", cost.executions},
                             {"extra_wavefronts", cost.extraWavefronts},
                             {"sectors", cost.sectors},
                             {"least_sectors", cost.leastSectors}});
  return root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace tilewright::ptx
