// gemm of PolyBench, size MEDIUM: C = alpha A B + beta C.
func.func @main(%A: tensor<200x240xf32> {tw.name = "A"},
                %B: tensor<240x220xf32> {tw.name = "B"},
                %C: tensor<200x220xf32> {tw.name = "C"})
    -> (tensor<200x220xf32> {tw.name = "D"}) {
  %alpha = tw.constant dense<1.5> : tensor<f32>
  %beta = tw.constant dense<1.2> : tensor<f32>
  %AB = tw.matmul %A, %B : (tensor<200x240xf32>, tensor<240x220xf32>) -> tensor<200x220xf32>
  %left = tw.mul %AB, %alpha : (tensor<200x220xf32>, tensor<f32>) -> tensor<200x220xf32>
  %right = tw.mul %C, %beta : (tensor<200x220xf32>, tensor<f32>) -> tensor<200x220xf32>
  %D = tw.add %left, %right : (tensor<200x220xf32>, tensor<200x220xf32>) -> tensor<200x220xf32>
  return %D : tensor<200x220xf32>
}
