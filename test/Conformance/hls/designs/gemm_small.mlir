// gemm of PolyBench, with a tenth of the sizes of MEDIUM: C = alpha A B + beta C.
func.func @main(%A: tensor<20x24xf32> {tw.name = "A"},
                %B: tensor<24x22xf32> {tw.name = "B"},
                %C: tensor<20x22xf32> {tw.name = "C"})
    -> (tensor<20x22xf32> {tw.name = "D"}) {
  %alpha = tw.constant dense<1.5> : tensor<f32>
  %beta = tw.constant dense<1.2> : tensor<f32>
  %AB = tw.matmul %A, %B : (tensor<20x24xf32>, tensor<24x22xf32>) -> tensor<20x22xf32>
  %left = tw.mul %AB, %alpha : (tensor<20x22xf32>, tensor<f32>) -> tensor<20x22xf32>
  %right = tw.mul %C, %beta : (tensor<20x22xf32>, tensor<f32>) -> tensor<20x22xf32>
  %D = tw.add %left, %right : (tensor<20x22xf32>, tensor<20x22xf32>) -> tensor<20x22xf32>
  return %D : tensor<20x22xf32>
}
