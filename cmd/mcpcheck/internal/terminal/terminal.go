// Package terminal tells what standard output is: a terminal or not, how wide, and with colours or without.
//
// Writer is the standard output that all commands write to. It keeps the first error, which main reports at the end, so
// that commands that print a few lines need not look at it. The environment variables NO_COLOR, FORCE_COLOR and COLUMNS
// are read here and nowhere else.
package terminal

import (
	"cmp"
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// Info reports whether a writer is a terminal, and how wide its lines may be: as wide as that is, or as COLUMNS
// says where it is none or does not tell; 0 if nothing does.
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

// UsesColor reports whether the console is to have colours: on a terminal, unless they are not wanted, or where they
// are forced. (no-color.org, force-color.org)
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

// Writer is standard output. It keeps why something could not be written, so that no command has to.
type Writer struct {
	io.Writer
	Err error
}

func (o *Writer) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	o.Err = cmp.Or(o.Err, err)
	return n, err
}
