package files

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpcheck/mcpcheck/suites/text"
)

// ReadAtMost is the content of a file, as far as one byte beyond a bound, by which who reads it sees that there is
// more: a file that was not meant, or a device, must not make mcpcheck grow.
func ReadAtMost(name string, most int) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, int64(most)+1))
}

// ReadLimited is the content of a file that is no longer than a bound.
func ReadLimited(name string, most int) ([]byte, error) {
	content, err := ReadAtMost(name, most)
	if err == nil && len(content) > most {
		return nil, &fs.PathError{Op: "read", Path: name,
			Err: fmt.Errorf("it is longer than the %s that are read", text.Size(most))}
	}
	return content, err
}

// WriteBuffered has something written, and says what went wrong with any of it.
func WriteBuffered(w io.Writer, write func(io.Writer) error) error {
	b := bufio.NewWriter(w)
	return cmp.Or(write(b), b.Flush())
}

func IsRegular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// IsSame reports whether two names are of one file.
func IsSame(a, b string) bool {
	one, err := os.Stat(a)
	other, wrong := os.Stat(b)
	return err == nil && wrong == nil && os.SameFile(one, other)
}

func Abs(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// IsMissing reports whether a file is not there.
func IsMissing(name string) bool {
	_, err := os.Stat(name)
	return errors.Is(err, fs.ErrNotExist)
}
