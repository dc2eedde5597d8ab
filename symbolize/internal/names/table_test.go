package names

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTable checks that goroutines that add the same names at once get the same entries, whose
// names are those of Demangle.
func TestTable(t *testing.T) {
	const goroutines, each = 7, 500
	table := NewTable(Simple, 3)
	var entries [goroutines][each]*Entry
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				entries[g][i] = table.Add(fmt.Sprintf("_ZN1s3fooILi%dEE3barEv.cold", i%300))
				require.Equal(t, "file", table.Intern("file"))
			}
		})
	}
	wg.Wait()
	table.Wait()
	for g := range goroutines {
		for i, e := range entries[g] {
			require.Same(t, entries[0][i%300], e)
			require.Equal(t, fmt.Sprintf("s::foo<%d>::bar", i%300), e.Name)
		}
	}
}

// TestEmptyTable checks that a table without names ends.
func TestEmptyTable(t *testing.T) { NewTable(Full, 2).Wait() }
