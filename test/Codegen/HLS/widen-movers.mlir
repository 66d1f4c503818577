// A kernel's result is read in another shape, so a task copies it. It copies in each cycle the elements that are in one row of both
// arrays and in their banks. The last index is (j * 16) % 32 + u: the remainder is only of j, not of j and u together.
// RUN: tilewright compile %s --target=hls --emit=asm | FileCheck %s
// CHECK-LABEL: void copy_{{.*}}(const float from[6][96], float to[6][3][32]) {
// CHECK: for (int j = 0; j < 6; ++j) {
// CHECK: for (int u = 0; u < 16; ++u) {
// CHECK-NEXT: #pragma HLS unroll
// CHECK-NEXT: to[i + ((j * 16) / 32) / 3][((j * 16) / 32) % 3][(j * 16) % 32 + u] = from[i][j * 16 + u];
func.func @main(%x: tensor<6x96xf32> {tw.name = "x"}, %w: tensor<96x96xf32> {tw.name = "w"}) -> (tensor<6x3x32xf32> {tw.name = "y"}) {
  %m = tw.matmul %x, %w : (tensor<6x96xf32>, tensor<96x96xf32>) -> tensor<6x96xf32>
  %h = tw.reshape %m : tensor<6x96xf32> -> tensor<6x3x32xf32>
  %y = tw.softmax %h {dim = 1 : i64} : tensor<6x3x32xf32> -> tensor<6x3x32xf32>
  return %y : tensor<6x3x32xf32>
}
