// The consumer of a kernel's result reads it in another shape, so a task copies the result. Each cycle copies elements
// that are in one row and in different banks of both arrays. The last index is (j * 16) % 32 + u, where the remainder
// does not depend on u.
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
