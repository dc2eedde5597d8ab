package text

import (
	"fmt"
	"io"
	"strings"
)

// printer writes lines and keeps the first error.
type Printer struct {
	W   io.Writer
	Err error
}

func (p *Printer) Linef(format string, args ...any) {
	if p.Err == nil {
		line := strings.TrimRight(fmt.Sprintf(format, args...), " ")
		_, p.Err = io.WriteString(p.W, line+"\n")
	}
}
