package preloadfile

import "debug/elf"

// ForMachine returns the object for a processor, of those that were built for x86-64 and for
// AArch64. It returns nil for another processor.
func ForMachine(m elf.Machine, x86, arm []byte) []byte {
	switch m {
	case elf.EM_X86_64:
		return x86
	case elf.EM_AARCH64:
		return arm
	}
	return nil
}
