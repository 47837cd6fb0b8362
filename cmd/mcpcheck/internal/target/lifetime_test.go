package target

import (
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// waitingText is a Notifier that keeps what is waited for.
type waitingText struct{ what string }

func (w *waitingText) ShowWaiting(what string, most time.Duration) (arrived func()) {
	w.what = what + ", up to " + most.String()
	return func() {}
}

func (*waitingText) PrintNotice(string) {}

// TestShowWaiting proves that the method of the first request is shown while a server starts.
func TestShowWaiting(t *testing.T) {
	awaited := Target{DriverTarget: driver.Target{Limits: driver.Limits{StartTimeout: time.Minute}}}
	for revision, want := range map[string]string{
		"2025-11-25":        "the answer to initialize, up to 1m0s",
		"2026-07-28":        "the answer to server/discover, up to 1m0s",
		config.ProtocolAuto: "the answer to server/discover or initialize, up to 1m0s",
	} {
		var told waitingText
		awaited.showWaiting(&told, revision)()
		if told.what != want {
			t.Errorf("%s: waiting for %q, want %q", revision, told.what, want)
		}
	}
}
