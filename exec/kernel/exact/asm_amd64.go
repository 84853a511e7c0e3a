//go:build amd64 && !noasm

package exact

import "golang.org/x/sys/cpu"

//go:generate go run ./internal/gen -out add_amd64.s -stubs stubs_amd64.go -pkg exact

// wide reports whether the processor multiplies integers of 52 bits.
var wide = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512IFMA
