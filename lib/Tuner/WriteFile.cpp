//===- WriteFile.cpp - write a file with error handling ----------------------------------------------===//
#include "lib/Tuner/WriteFile.h"
#include "llvm/Support/raw_ostream.h"

namespace tilewright::tuner {

llvm::Error writeFile(const std::string &path, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  std::error_code code;
  llvm::raw_fd_ostream out(path, code);
  if (!code) {
    write(out);
    out.close();
    code = out.error();
    out.clear_error();
  }
  if (!code)
    return llvm::Error::success();
  return llvm::createStringError(code, "cannot write '%s'", path.c_str());
}

} // namespace tilewright::tuner
