package discovery

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// slowAt is a server of both eras that reads no message with that text before some time has passed.
func slowAt(text string, after time.Duration) driver.Server {
	return func(ctx context.Context, in io.Reader, out, errs io.Writer, term <-chan struct{}) int {
		slow, lines := io.Pipe()
		go func() {
			for scanner := bufio.NewScanner(in); scanner.Scan(); {
				if bytes.Contains(scanner.Bytes(), []byte(text)) {
					time.Sleep(after)
				}
				lines.Write(append(scanner.Bytes(), '\n'))
			}
			lines.Close()
		}()
		return askedBothWays[0].serves.serve(ctx, slow, out, errs, term)
	}
}

// When all revisions are wanted, an era in which a server is slow is not left out.
func TestRevisionsOfSlowEra(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, _, err := Revisions(t.Context(), driver.Target{Serve: slowAt("server/discover", 3*time.Second)})
		if err != nil || !slices.Equal(all, allBoth) {
			t.Errorf("got %q, %v", all, err)
		}
	})
}

// The era by which a server is judged is the same when it is slow in one of them.
func TestAutoOfSlowEra(t *testing.T) {
	for _, greeting := range []string{"initialize", "server/discover"} {
		t.Run(greeting, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, err := Auto(t.Context(), driver.Target{Serve: slowAt(`"`+greeting+`"`, 1500*time.Millisecond)})
				if err != nil || f.Server.Revision != firstChoice {
					t.Errorf("judged by %s, %v", f.Server.Revision, err)
				}
				f.Close()
			})
		})
	}
}

// A server that is slow in the era by which it is judged is waited for once it is shown to speak it: what it lists is
// not cut short.
func TestAutoOfSlowLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := Auto(t.Context(), driver.Target{Serve: slowAt("2026-07-28", 1500*time.Millisecond)})
		if err != nil || f.Server.Revision != firstChoice || len(f.Server.Tools) == 0 || !f.First.Alive() {
			t.Errorf("judged by %s with the tools %v: %v", f.Server.Revision, f.Server.Tools, err)
		}
		f.Close()
	})
}
