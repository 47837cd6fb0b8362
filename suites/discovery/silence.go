package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// silenceHint says why a server over stdio may have left initialize with a version unanswered, if it answers something
// else: an earlier version, or messages with the headers of the Language Server Protocol. Both are tried at the same
// time, each in a process of its own. It returns "" if nothing is answered.
func silenceHint(ctx context.Context, t driver.Target, version string) string {
	hints := make(chan string)
	for _, try := range []func(*driver.Session, string) string{tryEarlierVersions, tryHeaders} {
		go func() {
			s, err := driver.Start(ctx, t, driver.Options{})
			if err != nil {
				hints <- ""
				return
			}
			hint := try(s, version)
			s.Kill()
			s.Close()
			hints <- hint
		}()
	}
	one, other := <-hints, <-hints
	return one + other
}

// tryEarlierVersions sends initialize with all earlier versions at once, since a server that ignores one may answer
// another.
func tryEarlierVersions(s *driver.Session, version string) string {
	sent := map[string]driver.Pending{}
	for _, earlier := range slices.Backward(catalogue.LegacyRevisions) {
		if earlier < version {
			sent[earlier] = s.Request("initialize", driver.ConnectParams(earlier))
		}
	}
	if !isAnsweredSoon(s, (*driver.Frame).IsResponse) {
		return ""
	}
	for _, earlier := range slices.Backward(catalogue.LegacyRevisions) {
		if p, wasSent := sent[earlier]; wasSent && s.AwaitFor(p, 0).Result() != nil {
			return fmt.Sprintf("it answers initialize with %s, and not with %s: answer a version that the server does "+
				"not know with one that it does. To test it as it is: --protocol %[1]s", earlier, version)
		}
	}
	return ""
}

// tryHeaders sends initialize with the headers of the Language Server Protocol.
func tryHeaders(s *driver.Session, version string) string {
	message, _ := json.Marshal(check.M{
		"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": driver.ConnectParams(version),
	})
	s.Write(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(message), message))
	isHeader := func(f *driver.Frame) bool {
		return bytes.HasPrefix(bytes.ToLower(f.Raw.Bytes()), []byte("content-length:"))
	}
	if !isAnsweredSoon(s, isHeader) {
		return ""
	}
	return "it wants Content-Length headers, as the Language Server Protocol has them: read and write each message " +
		"on a line of its own, without headers"
}

// isAnsweredSoon reports whether the server sends a frame soon that is an answer.
func isAnsweredSoon(s *driver.Session, isAnswer func(*driver.Frame) bool) bool {
	f, _ := s.Wait(0, min(s.StartTimeout(), timing.SilenceTry), func(f *driver.Frame) bool {
		return f.Side == driver.FromServer && isAnswer(f)
	})
	return f != nil
}
