//===- ProfileTable.cpp - print the times of a program's steps ----------------------===//
//
// The table has one line for each step of the plan that took time:
//
//   ms per call  share  step (times are summed over threads)
//         0.812  61.2%  matmul, gelu (model.py:12)
//
// Test: test/Python/test_library.py, test/Tools/run.mlir
//
//===----------------------------------------------------------------------===//
#include "ProfileTable.h"
#include "lib/Interfaces/NumberText.h"
#include "llvm/ADT/STLExtras.h"

namespace tilewright::driver {

void printProfile(std::vector<ProfiledStep> steps, int calls, llvm::raw_ostream &out) {
  llvm::erase_if(steps, [](const ProfiledStep &step) { return step.milliseconds == 0; });
  llvm::stable_sort(steps, [](const auto &a, const auto &b) { return a.milliseconds > b.milliseconds; });
  double all = 0;
  for (const ProfiledStep &step : steps)
    all += step.milliseconds;
  out << "ms per call  share  step (times are summed over threads)\n";
  for (const ProfiledStep &step : steps)
    out << numberText("%11.3f  %5.1f%%  ", step.milliseconds / calls, step.milliseconds / all * 100)
        << (step.operations.empty() ? "copy" : step.operations) << "\n";
}

} // namespace tilewright::driver
