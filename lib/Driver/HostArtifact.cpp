//===- HostArtifact.cpp - plan and object code in one image -----------------------===//
#include "lib/Driver/HostArtifact.h"
#include "llvm/Support/Endian.h"

namespace tilewright {

static void appendBlock(std::string &image, llvm::StringRef bytes) {
  char size[8];
  llvm::support::endian::write64le(size, bytes.size());
  image.append(size, 8);
  image.append(bytes.data(), bytes.size());
}

std::string packHostArtifact(const HostArtifact &parts) {
  std::string image;
  appendBlock(image, parts.plan);
  appendBlock(image, parts.kernelNames);
  for (llvm::StringRef object : parts.objects)
    appendBlock(image, object);
  return image;
}

llvm::Expected<HostArtifact> readHostArtifact(llvm::StringRef image) {
  llvm::SmallVector<llvm::StringRef> blocks;
  for (llvm::StringRef rest = image; !rest.empty();) {
    uint64_t size = rest.size() < 8 ? UINT64_MAX : llvm::support::endian::read64le(rest.data());
    if (rest.size() < 8 || size > rest.size() - 8)
      return llvm::createStringError("the compiled artifact is truncated");
    blocks.push_back(rest.substr(8, size));
    rest = rest.drop_front(8 + size);
  }
  if (blocks.size() < 2)
    return llvm::createStringError("the compiled artifact is empty");
  return HostArtifact{blocks[0], blocks[1], {blocks.begin() + 2, blocks.end()}};
}

llvm::Expected<plan::Plan> planOf(const HostArtifact &parts) {
  plan::Plan plan;
  std::string error;
  if (!plan::deserialize(parts.plan.bytes_begin(), parts.plan.size(), plan, error))
    return llvm::createStringError("the compiled plan cannot be read: %s", error.c_str());
  return plan;
}

} // namespace tilewright
