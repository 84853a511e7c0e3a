package forecast

import "github.com/tributarydb/tributary/ml/family"

// Families are the families of this package.
func Families() []family.Family { return []family.Family{seasonalNaive, smoothing, autoregressive} }
