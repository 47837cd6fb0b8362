//go:build unix

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/fixtures"
)

// pingCount is the number of pings in a session.
const pingCount = 2000

// BenchmarkRecord compares a session of sequential pings with the same session through the recorder: it reports the
// additional time per message, requests and responses counted. The responses have to be the same bytes.
func BenchmarkRecord(b *testing.B) {
	self := buildProgram(b)
	b.Run("stdio", func(b *testing.B) {
		bare := []string{self, "serve"}
		compareRecordedSession(b, func(file string) (time.Duration, []byte) {
			if file == "" {
				return pingOverStdio(b, bare)
			}
			return pingOverStdio(b, slices.Concat([]string{self, "record", "--out", file, "--"}, bare))
		})
	})
	b.Run("http", func(b *testing.B) {
		site := httptest.NewServer(fixtures.Handler(b.Context(), fixtures.HTTPOptions{}, fixtures.Fault{}))
		defer site.Close()
		compareRecordedSession(b, func(file string) (time.Duration, []byte) {
			if file == "" {
				return pingOverHTTP(b, site.URL+"/mcp")
			}
			at, end := startHTTPRecorder(b, self, file, site.URL+"/mcp")
			defer end()
			return pingOverHTTP(b, at)
		})
	})
}

// compareRecordedSession measures a session with and without a recorder, in turn.
func compareRecordedSession(b *testing.B, session func(file string) (time.Duration, []byte)) {
	for b.Loop() {
		var bares, recorded []time.Duration
		for range measurements {
			took, said := session("")
			bares = append(bares, took)
			took, same := session(filepath.Join(b.TempDir(), "record.jsonl"))
			recorded = append(recorded, took)
			if !bytes.Equal(said, same) {
				b.Fatalf("the recorder changes bytes:\n%.200s\n%.200s", said, same)
			}
		}
		slices.Sort(bares)
		slices.Sort(recorded)
		one, other := bares[measurements/2], recorded[measurements/2]
		b.ReportMetric(float64((other-one).Microseconds())/(2*pingCount), "µs-added/message")
		b.ReportMetric(float64(other)/float64(one), "recorded/bare")
		b.ReportMetric(float64(one.Microseconds())/(2*pingCount), "µs-bare/message")
		b.ReportMetric(0, "ns/op")
	}
}

// pingOverStdio returns how long the pings of a session take, and the responses.
func pingOverStdio(b *testing.B, server []string) (took time.Duration, said []byte) {
	cmd := exec.Command(server[0], server[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewReader(out)
	ask := func(line string) {
		fmt.Fprintln(in, line)
		answer, err := lines.ReadBytes('\n')
		if err != nil {
			b.Fatal(err)
		}
		said = append(said, answer...)
	}
	ask(initializeMessage)
	fmt.Fprintln(in, initializedMessage)
	ask(pingLine(1))
	begin := time.Now()
	for i := range pingCount {
		ask(pingLine(2 + i))
	}
	took = time.Since(begin)
	in.Close()
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return took, said
}

// pingOverHTTP does the same over one HTTP connection.
func pingOverHTTP(b *testing.B, at string) (took time.Duration, said []byte) {
	session := "" // from the first response
	ask := func(line string) {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, at, strings.NewReader(line))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode/100 != 2 {
			b.Fatalf("%s, %v", resp.Status, err)
		}
		said = append(said, answer...)
		session = cmp.Or(session, resp.Header.Get("Mcp-Session-Id"))
	}
	ask(initializeMessage)
	ask(initializedMessage)
	ask(pingLine(1))
	begin := time.Now()
	for i := range pingCount {
		ask(pingLine(2 + i))
	}
	return time.Since(begin), said
}
