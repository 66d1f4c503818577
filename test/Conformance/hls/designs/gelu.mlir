// GELU of a product with a bias. The product, the bias and GELU form one kernel.
func.func @main(%x: tensor<16x32xf32> {tw.name = "x"},
                %w: tensor<32x24xf32> {tw.name = "w"},
                %b: tensor<24xf32> {tw.name = "b"})
    -> (tensor<16x24xf32> {tw.name = "y"}) {
  %m = tw.matmul %x, %w : (tensor<16x32xf32>, tensor<32x24xf32>) -> tensor<16x24xf32>
  %a = tw.add %m, %b : (tensor<16x24xf32>, tensor<24xf32>) -> tensor<16x24xf32>
  %y = tw.gelu %a : (tensor<16x24xf32>) -> tensor<16x24xf32>
  return %y : tensor<16x24xf32>
}
