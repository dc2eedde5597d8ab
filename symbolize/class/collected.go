package class

import (
	"slices"
	"strings"

	"github.com/heaplapse/heaplapse/symbolize"
)

// CollectedLater is by how many bytes the memory of JavaScript's buffers grows, at most, before V8 begins to look for
// those that are not used any more (kExternalAllocationSoftLimit in V8's include/v8-internal.h).
const CollectedLater = 64 << 20

// bufferFunctions are the beginnings of the names of functions through which V8 requests the memory of buffers.
var bufferFunctions = []string{"node::NodeArrayBufferAllocator::", "v8::internal::BackingStore::", "v8::ArrayBuffer::"}

// Collected reports whether the memory that a stack requested is that of a buffer of JavaScript, such as a Buffer of
// Node or a typed array. It is in use until V8 collects the object that has it, which may be long after the program has
// used it last.
func (b *Blamer) Collected(stack []symbolize.LocationID) bool {
	return slices.ContainsFunc(stack, func(id symbolize.LocationID) bool {
		return slices.ContainsFunc(b.s.Locations[id].Frames, func(f symbolize.Frame) bool {
			return slices.ContainsFunc(bufferFunctions, func(name string) bool {
				return strings.HasPrefix(f.Function, name)
			})
		})
	})
}
