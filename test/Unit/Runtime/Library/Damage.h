//===- Damage.h - random changes of files, determined by a seed -------------------------===//
#ifndef TILEWRIGHT_TEST_UNIT_HOSTILELIBRARY_DAMAGE_H
#define TILEWRIGHT_TEST_UNIT_HOSTILELIBRARY_DAMAGE_H

#include <random>
#include <string>

using Random = std::mt19937;

/// Returns `bytes` with some of them changed, removed, repeated or cut off. The result always differs from `bytes`.
std::string damagedBytes(const std::string &bytes, Random &random);

/// Returns JSON with other values: numbers out of range, other strings, values of other keys, values removed.
std::string damagedJson(const std::string &text, Random &random);

#endif
