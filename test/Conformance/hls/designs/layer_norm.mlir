// Layer norm of rows, with weight and bias.
func.func @main(%x: tensor<16x64xf32> {tw.name = "x"},
                %weight: tensor<64xf32> {tw.name = "weight"},
                %bias: tensor<64xf32> {tw.name = "bias"})
    -> (tensor<16x64xf32> {tw.name = "y"}) {
  %y, %mean, %rstd = tw.layer_norm %x weight(%weight : tensor<64xf32>) bias(%bias : tensor<64xf32>) {rank = 1 : i64, eps = 1.0e-5 : f64} : tensor<16x64xf32> -> tensor<16x64xf32>, tensor<16x1xf32>, tensor<16x1xf32>
  return %y : tensor<16x64xf32>
}
