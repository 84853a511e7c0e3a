//go:build !amd64 || noasm

package f32

func bodies() map[string]product { return map[string]product{"go": Gemm} }

func onLevel(_ string, f func()) { f() }

func levels() []string { return []string{"go"} }
