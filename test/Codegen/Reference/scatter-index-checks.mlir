// The targets reference and plain report indices of tw.scatter that are out of range. With tw.from_start, these include
// negative indices. The target hls has no form for such checks and refuses the model.
// RUN: split-file %s %t
// RUN: not tilewright run --target=reference %t/end.mlir 2>&1 | FileCheck %s --check-prefix=END
// RUN: not tilewright run --target=plain %t/end.mlir 2>&1 | FileCheck %s --check-prefix=END
// RUN: not tilewright run --target=reference %t/start.mlir 2>&1 | FileCheck %s --check-prefix=START
// RUN: tilewright run --target=reference %t/negative.mlir | FileCheck %s --check-prefix=NEGATIVE
// RUN: not tilewright compile --target=hls %t/end.mlir -o %t/design 2>&1 | FileCheck %s --check-prefix=HLS
// END: index 4 is out of range for a dimension of size 4, in scatter ({{.*}}end.mlir:4)
// START: index -1 is out of range for a dimension of size 4, in scatter ({{.*}}start.mlir:4)
// NEGATIVE: result 0: f32[4] sum 26 magnitude 26
// HLS: the target hls does not support this model:
// HLS-NEXT: tw_tile.place ({{.*}}end.mlir:4)

//--- end.mlir
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %i = tw.constant dense<[0, 4]> : tensor<2xi64>
  %v = tw.constant dense<[5.0, 6.0]> : tensor<2xf32>
  %0 = tw.scatter set %x[%i], %v {dim = 0 : i64} : (tensor<4xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- start.mlir
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %i = tw.constant dense<[0, -1]> : tensor<2xi64>
  %v = tw.constant dense<[5.0, 6.0]> : tensor<2xf32>
  %0 = tw.scatter set %x[%i], %v {dim = 0 : i64, tw.from_start} : (tensor<4xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- negative.mlir
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %i = tw.constant dense<[0, -1, -2, 1]> : tensor<4xi64>
  %v = tw.constant dense<[5.0, 6.0, 7.0, 8.0]> : tensor<4xf32>
  %0 = tw.scatter set %x[%i], %v {dim = 0 : i64} : (tensor<4xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
