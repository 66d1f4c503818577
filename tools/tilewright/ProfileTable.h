//===- ProfileTable.h - print the times of a program's steps ------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_PROFILETABLE_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_PROFILETABLE_H

#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace tilewright::driver {

/// A step of the plan, with its total time in all measured calls, summed over threads.
struct ProfiledStep {
  std::string operations; ///< names of the ops with their lines in the model; "" for a copy
  double milliseconds = 0;
};

/// Prints the steps that took time, sorted by time with the slowest step first. For each step, prints the milliseconds
/// per call, the share of the total time, and the operations.
void printProfile(std::vector<ProfiledStep> steps, int calls, llvm::raw_ostream &out);

} // namespace tilewright::driver

#endif
