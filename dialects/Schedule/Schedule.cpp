//===- Schedule.cpp - the interface of all schedules ---------------------------===//
#include "dialects/Schedule/Schedule.h"
#include "lib/Interfaces/NumberText.h"

#include "dialects/Schedule/ScheduleEnums.cpp.inc"
#include "dialects/Schedule/ScheduleInterfaces.cpp.inc"

namespace tilewright::schedule {

std::string describeSizes(int64_t least, int64_t most) {
  if (least == 0)
    return "to " + std::to_string(most);
  if (most == INT64_MAX)
    return "from " + std::to_string(least);
  return std::to_string(least) + " to " + std::to_string(most);
}

std::string describePrediction(const Prediction &prediction) {
  const double microseconds = double(prediction.nanoseconds) / 1000;
  return numberText("%.*f us, %s", microseconds < 10 ? 1 : 0, microseconds,
                    stringifyBound(prediction.bound).str().c_str());
}

} // namespace tilewright::schedule
