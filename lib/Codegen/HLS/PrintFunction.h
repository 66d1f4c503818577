//===- PrintFunction.h - statements of one function ---------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_PRINTFUNCTION_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_PRINTFUNCTION_H

#include "dialects/HLS/HLS.h"
#include "lib/Codegen/HLS/Names.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <set>
#include <string>

namespace tilewright::hls {

/// Prints one function as C++. An op whose value has only one use is printed at this use, as part of a larger
/// expression, if this does not change the value. Constants, index casts and affine.apply are printed at each use. The
/// value of a long expression is assigned to a variable instead.
class FunctionPrinter {
public:
  /// The names and source lines of ops that cannot be printed as C++ are added to `problems`.
  FunctionPrinter(mlir::func::FuncOp function, llvm::raw_ostream &out, std::set<std::string> &problems);

  void print();
  /// Returns the names of the function's arguments in C++.
  std::vector<std::string> argumentNames();

private:
  void block(mlir::Block &block);
  void statement(mlir::Operation &op);
  void loop(mlir::Operation &op, mlir::Block &body, mlir::Value iv, const std::string &low, const std::string &high,
            const std::string &step);
  void carried(mlir::Operation &op, mlir::ValueRange initial, mlir::ValueRange inside);
  void yield(mlir::Operation &terminator, mlir::ValueRange targets);
  void pragmas(mlir::Value array, llvm::StringRef name);
  void define(mlir::Value value, const std::string &text);
  void defineInFabric(mlir::Operation &op, const std::string &text);
  bool foldable(mlir::Operation &op);

  std::string expression(mlir::Operation &op);
  std::string use(mlir::Value value);
  std::string operand(mlir::Value value);
  std::string affine(mlir::AffineExpr expr, mlir::ValueRange operands, unsigned dims);
  std::string access(mlir::Value array, mlir::ValueRange operands);
  std::string access(mlir::Value array, mlir::AffineMap map, mlir::ValueRange operands);
  std::string binary(mlir::Operation &op, llvm::StringRef sign);
  std::optional<std::string> narrowProduct(mlir::Operation &op);
  std::string unsignedBinary(mlir::Operation &op);
  std::string shiftAmount(mlir::Operation &op);
  std::string asUnsigned(mlir::Value value);
  void indent();

  mlir::func::FuncOp function;
  llvm::raw_ostream &out;
  std::set<std::string> &problems;
  NameTable names;
  llvm::DenseMap<mlir::Value, std::string> written; ///< the name of a value, or the expression of a foldable value
  unsigned depth = 1, temporaries = 0, loops = 0;
};

} // namespace tilewright::hls

#endif
