package text

import (
	"fmt"
	"io"
	"strings"
)

// Printer writes lines to W and keeps the first error in Err. Places that Links has become links.
type Printer struct {
	W     io.Writer
	Links Links
	Err   error
}

// Linef writes a line without the blanks at its end. After an error it does nothing.
func (p *Printer) Linef(format string, args ...any) {
	if p.Err == nil {
		line := strings.TrimRight(fmt.Sprintf(format, args...), " ")
		_, p.Err = io.WriteString(p.W, p.Links.In(line)+"\n")
	}
}
