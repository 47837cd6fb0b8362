package driver

import (
	"bytes"
	"slices"
)

// Some servers over stdio print what they read. What comes back so is a message as well: taken for a request of the
// server it would be answered, and that answer would come back for one of the server. No server sends its client's
// greeting, so that one which does is known to print, and whatever it repeats word for word counts as printed.

// Echoes reports whether the server has sent its client's greeting back.
func (s *Session) Echoes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.echoing
}

// expectEchoes notes the lines of the client that the server may print.
func (s *Session) expectEchoes(f *Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.echoing || f.Method == "initialize" || f.Method == "server/discover" {
		s.unechoed = append(s.unechoed, bytes.Split(f.Raw.Bytes(), []byte("\n"))...)
	}
}

// isEcho reports whether a frame that was parsed is a line of the client that the server prints.
func (s *Session) isEcho(f *Frame) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.unechoed, func(line []byte) bool { return bytes.Equal(line, f.Raw.Bytes()) })
	if i < 0 {
		return false
	}
	s.echoing = true
	s.unechoed = slices.Delete(s.unechoed, i, i+1)
	return true
}
