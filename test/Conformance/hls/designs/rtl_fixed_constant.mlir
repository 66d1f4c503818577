// flags: --fixed 9,3,AP_TRN,AP_WRAP
// A scale and an offset per column are stored in ROMs, and a residual connection adds x.
func.func @main(%x: tensor<6x8xf32> {tw.name = "x"}) -> (tensor<6x8xf32> {tw.name = "y"}) {
  %c = tw.constant dense<[0.3, -0.55, 1.7, 0.01, 0.9, -1.2, 0.125, 2.0]> : tensor<8xf32>
  %d = tw.constant dense<[0.5, 0.25, -0.75, 1.0, 0.0, 0.1, -0.1, 0.3]> : tensor<8xf32>
  %m = tw.mul %x, %c : (tensor<6x8xf32>, tensor<8xf32>) -> tensor<6x8xf32>
  %a = tw.add %m, %d : (tensor<6x8xf32>, tensor<8xf32>) -> tensor<6x8xf32>
  %y = tw.add %a, %x : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}
