//===- SpaceText.h - schedule spaces as JSON, for attributes and tables ---------------------===//
#ifndef TILEWRIGHT_SPACETEXT_H
#define TILEWRIGHT_SPACETEXT_H

#include "tilewright/ScheduleSpace.h"

namespace tilewright {

std::string spaceToText(const ScheduleSpace &space);

/// Returns nullopt, with the reason in `why`, for text that spaceToText() has not written.
std::optional<ScheduleSpace> spaceFromText(std::string_view text, std::string &why);

} // namespace tilewright

#endif
