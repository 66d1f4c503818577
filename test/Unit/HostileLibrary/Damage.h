//===- Damage.h - changes files at random, the same for the same seed -------------------===//
#ifndef TILEWRIGHT_TEST_UNIT_HOSTILELIBRARY_DAMAGE_H
#define TILEWRIGHT_TEST_UNIT_HOSTILELIBRARY_DAMAGE_H

#include <random>
#include <string>

using Random = std::mt19937;

/// `bytes` with some of them changed, left out, repeated or cut off; never as they were.
std::string damagedBytes(const std::string &bytes, Random &random);

/// JSON whose values and keys are other ones: numbers out of range, texts of other places, values left out.
std::string damagedJson(const std::string &text, Random &random);

#endif
