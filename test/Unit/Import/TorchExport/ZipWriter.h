//===- ZipWriter.h - valid and invalid zip files for tests ----------------------===//
#ifndef TILEWRIGHT_TEST_UNIT_EXPORTEDPROGRAM_ZIPWRITER_H
#define TILEWRIGHT_TEST_UNIT_EXPORTEDPROGRAM_ZIPWRITER_H

#include <cstdint>
#include <string>
#include <vector>
#include <zlib.h>

namespace tilewright::exported::test {

struct Part {
  std::string name, bytes;
  bool deflate = false;
};

/// Writes stored or deflated entries with correct checksums, without ZIP64 records.
class ZipWriter {
public:
  std::string file, directory;
  unsigned count = 0;

  static void put(std::string &to, uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; ++i)
      to += i < 8 ? char(value >> (8 * i)) : char(0);
  }

  static std::string packed(const std::string &bytes) {
    std::string result(bytes.size() + 1024, '\0');
    z_stream stream{};
    deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
    stream.avail_in = uInt(bytes.size());
    stream.next_out = reinterpret_cast<Bytef *>(result.data());
    stream.avail_out = uInt(result.size());
    deflate(&stream, Z_FINISH);
    result.resize(stream.total_out);
    deflateEnd(&stream);
    return result;
  }

  void add(const Part &part) {
    uint64_t local = file.size();
    std::string data = part.deflate ? packed(part.bytes) : part.bytes;
    uint32_t checksum = uint32_t(crc32(0, reinterpret_cast<const Bytef *>(part.bytes.data()), uInt(part.bytes.size())));
    auto header = [&](std::string &to) {
      put(to, 20, 2);                   // minimum version
      put(to, 0, 2);                    // flags
      put(to, part.deflate ? 8 : 0, 2); // method
      put(to, 0, 4);                    // time
      put(to, checksum, 4);
      put(to, data.size(), 4);
      put(to, part.bytes.size(), 4);
      put(to, part.name.size(), 2);
      put(to, 0, 2); // extra
    };
    put(file, 0x04034b50, 4);
    header(file);
    file += part.name + data;
    put(directory, 0x02014b50, 4);
    put(directory, 20, 2); // made by
    header(directory);
    put(directory, 0, 2 + 2 + 2 + 4); // comment, disk, attributes
    put(directory, local, 4);
    directory += part.name;
    ++count;
  }

  std::string finish() {
    std::string whole = file + directory;
    put(whole, 0x06054b50, 4);
    put(whole, 0, 4);
    put(whole, count, 2);
    put(whole, count, 2);
    put(whole, directory.size(), 4);
    put(whole, file.size(), 4);
    put(whole, 0, 2);
    return whole;
  }
};

inline std::string zip(const std::vector<Part> &parts) {
  ZipWriter writer;
  for (const Part &part : parts)
    writer.add(part);
  return writer.finish();
}

} // namespace tilewright::exported::test

#endif
