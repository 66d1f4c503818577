//===- Npy.cpp - read and write .npy files as bytes ---------------------------------===//
#include "tools/ptx-check/Npy.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>

namespace tilewright::ptx {

static constexpr size_t mostHeader = 4096;

bool readNpy(const std::string &path, Array &array, std::string &error) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  std::string text = all.str();
  auto fail = [&](const std::string &why) {
    error = path + ": " + why;
    return false;
  };
  if (!file)
    return fail("cannot be read");
  if (text.size() < 12 || text.compare(0, 6, "\x93NUMPY") != 0 || text[6] < 1 || text[6] > 3)
    return fail("is not a .npy file");
  size_t wide = text[6] == 1 ? 2 : 4, length = 0;
  for (size_t i = 0; i < wide; ++i)
    length |= size_t(uint8_t(text[8 + i])) << (8 * i);
  size_t begin = 8 + wide;
  if (text.size() - begin < length)
    return fail("its header is truncated");
  if (length > mostHeader)
    return fail("its header has more than " + std::to_string(mostHeader) + " characters"); // std::regex is recursive
  std::string header = text.substr(begin, length);
  std::smatch match;
  if (!std::regex_search(header, match, std::regex("'descr': *'([<|][a-z])([0-9]+)'")))
    return fail("its dtype is not a little-endian integer or float");
  array.type = match[1].str() + match[2].str();
  uint64_t size = strtoull(match[2].str().c_str(), nullptr, 10);
  if (header.find("'fortran_order': False") == std::string::npos)
    return fail("is in Fortran order (column-major); convert it with numpy.ascontiguousarray");
  if (!std::regex_search(header, match, std::regex("'shape': *\\(([0-9, ]*)\\)")))
    return fail("has no shape");
  std::stringstream sides(match[1].str());
  array.shape.clear();
  for (std::string side; std::getline(sides, side, ',');)
    if (side.find_first_not_of(' ') != std::string::npos)
      array.shape.push_back(strtoull(side.c_str(), nullptr, 10));
  uint64_t bytes = size;
  for (uint64_t side : array.shape) {
    if (side && bytes > (uint64_t(1) << 40) / side)
      return fail("is too large");
    bytes *= side;
  }
  if (text.size() - begin - length != bytes)
    return fail("has " + std::to_string(text.size() - begin - length) + " bytes of data, but its shape requires " +
                std::to_string(bytes));
  array.bytes.assign(text.begin() + std::ptrdiff_t(begin + length), text.end());
  return true;
}

bool writeNpy(const std::string &path, const Array &array, std::string &error) {
  std::string shape;
  for (uint64_t side : array.shape)
    shape += std::to_string(side) + ", ";
  std::string header = "{'descr': '" + array.type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  while ((10 + header.size() + 1) % 64)
    header += ' ';
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << std::string("\x93NUMPY\x01\x00", 8) << char(header.size() & 255) << char(header.size() >> 8) << header;
  file.write(reinterpret_cast<const char *>(array.bytes.data()), std::streamsize(array.bytes.size()));
  file.close();
  if (!file)
    error = path + ": cannot be written";
  return bool(file);
}

} // namespace tilewright::ptx
