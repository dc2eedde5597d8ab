//go:build linux

package rss

import (
	"slices"

	"github.com/heaplapse/heaplapse/internal/holders/blocks"
)

// addStacks claims the stacks of threads. That of a thread is known by its descriptor (struct pthread of glibc), to
// which the thread pointer points. It lies at the end of the stack. Stacks of threads that have ended are
// kept for others: they end like that, too.
func (a *account) addStacks(c *Copy, list *claims) {
	words := &blocks.Window{Memory: c.Memory, Within: blocks.Range{End: 1 << 47}}
	for _, pointer := range c.ThreadPointers {
		if stack, ok := stackOf(words, pointer); ok {
			list.add(stack, Stacks)
			a.Stacks++
		}
	}
	for _, m := range c.Mappings {
		if m.Path != "" || m.Permissions != "rw-p" {
			continue
		}
		for end := m.End; end > m.Start; {
			stack, pointer := a.stackBefore(words, blocks.Range{Start: m.Start, End: end})
			if stack.Size() == 0 {
				break
			}
			if !slices.Contains(c.ThreadPointers, pointer) {
				list.add(stack, EndedStacks)
				a.EndedStacks++
			}
			end = stack.Start
		}
	}
}

// Structure of glibc on 64-bit processors: the first word and the third one of a descriptor are its address.
const (
	descriptorStep = 64
	descriptorSize = 2304
	maxBehind      = 64 << 10 // from a descriptor to the end of the stack
	maxStack       = 1 << 40
)

// stackOf returns the stack with the descriptor at an address. The address of the stack and its size
// follow each other in the descriptor, at an offset that differs between versions.
func stackOf(words *blocks.Window, descriptor uint64) (blocks.Range, bool) {
	if first, ok := words.Word(descriptor); !ok || first != descriptor {
		return blocks.Range{}, false
	}
	if third, ok := words.Word(descriptor + 16); !ok || third != descriptor {
		return blocks.Range{}, false
	}
	start, _ := words.Word(descriptor + 24)
	for at := descriptor + 32; at < descriptor+descriptorSize; at += 8 {
		size, ok := words.Word(at)
		if !ok {
			break
		}
		end := start + size
		if start%pageSize == 0 && size%pageSize == 0 && size > 0 && size <= maxStack && start < descriptor &&
			end > descriptor && end-descriptor <= maxBehind {
			return blocks.Range{Start: start, End: end}, true
		}
		start = size
	}
	return blocks.Range{}, false
}

// stackBefore returns the stack that ends where a range of memory ends, and its descriptor.
func (a *account) stackBefore(words *blocks.Window, r blocks.Range) (blocks.Range, uint64) {
	const most = 2 * pageSize
	last := blocks.Range{Start: r.End - min(most, r.Size()), End: r.End}
	if a.resident.size(last) == 0 {
		return blocks.Range{}, 0
	}
	for at := last.End - descriptorStep; at >= last.Start && at < last.End; at -= descriptorStep {
		if stack, ok := stackOf(words, at); ok && stack.End == r.End && stack.Start < at {
			return stack, at
		}
	}
	return blocks.Range{}, 0
}
