//===- Damage.h - random changes of files, determined by a seed -------------------------===//
#ifndef TILEWRIGHT_TEST_UNIT_HOSTILELIBRARY_DAMAGE_H
#define TILEWRIGHT_TEST_UNIT_HOSTILELIBRARY_DAMAGE_H

#include <random>
#include <string>

using Random = std::mt19937;

/// Returns a copy of `bytes` in which some bytes are changed, removed or repeated, or the end is truncated. The copy
/// always differs from `bytes`.
std::string damagedBytes(const std::string &bytes, Random &random);

/// Returns a copy of the JSON text in which at most three values are removed, repeated, lengthened or replaced by a
/// number, a string or another value of the text.
std::string damagedJson(const std::string &text, Random &random);

#endif
