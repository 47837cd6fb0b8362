// Package terminal finds out about standard output: whether it is a terminal, how wide it is, and whether it has
// colours.
//
// Writer is the standard output that all commands write to. It keeps the first error, which main reports at the end, so
// that commands that print a few lines need not check it. The environment variables NO_COLOR, FORCE_COLOR and COLUMNS
// are read here and nowhere else.
package terminal

import (
	"cmp"
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// Info reports whether a writer is a terminal, and its width in columns: that of the terminal or, where it is unknown,
// COLUMNS; 0 means unknown.
func Info(w io.Writer) (isTerminal bool, width int) {
	if o, ok := w.(*Writer); ok {
		w = o.Writer
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		isTerminal = true
		width, _, _ = term.GetSize(int(f.Fd()))
	}
	if width <= 0 {
		width, _ = strconv.Atoi(os.Getenv("COLUMNS"))
	}
	return isTerminal, width
}

// UsesColor reports whether the console has colours: on a terminal unless they are unwanted, or where they are forced.
// (no-color.org, force-color.org)
func UsesColor(isTerminal, unwanted bool) bool {
	force := os.Getenv("FORCE_COLOR")
	switch {
	case unwanted || os.Getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0" && force != "false":
		return true
	}
	return isTerminal
}

// Writer is standard output. It keeps the first error of all writes in Err.
type Writer struct {
	io.Writer
	Err error
}

func (o *Writer) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	o.Err = cmp.Or(o.Err, err)
	return n, err
}
