//===- SpaceText.h - schedule spaces as JSON, for attributes and tables ---------------------===//
#ifndef TILEWRIGHT_LIB_INTERFACES_SPACETEXT_H
#define TILEWRIGHT_LIB_INTERFACES_SPACETEXT_H

#include "tilewright/ScheduleSpace.h"

namespace tilewright {

std::string spaceToText(const ScheduleSpace &space);

/// Parses the text of spaceToText(). Returns nullopt for any other text, with the reason in `why`.
std::optional<ScheduleSpace> spaceFromText(std::string_view text, std::string &why);

} // namespace tilewright

#endif
