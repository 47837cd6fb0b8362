package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/fixtures"
)

// These are messages of a client.
const (
	initializeMessage = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	initializedMessage = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func pingLine(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id) }

// postMessage posts a message of a session, and returns the session id, which the first response has.
func postMessage(t *testing.T, at, session, line string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(line))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
		req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	if resp.StatusCode/100 != 2 {
		t.Fatal(resp.Status)
	}
	if issued := resp.Header.Get("Mcp-Session-Id"); issued != "" {
		return issued
	}
	return session
}

// TestRecordHTTP proves that the command is a proxy for a server until Ctrl-C, and prints its URL.
func TestRecordHTTP(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("this system has no SIGINT")
	}
	server := httptest.NewServer(fixtures.Handler(t.Context(), fixtures.HTTPOptions{}, fixtures.Fault{}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "record.jsonl")
	at, end := startHTTPRecorder(t, "mcpcheck", file, server.URL+"/mcp")
	session := ""
	for _, line := range []string{initializeMessage, initializedMessage, pingLine(1)} {
		session = postMessage(t, at, session, line)
	}
	end()
	if said, err := exec.CommandContext(t.Context(), "mcpcheck", "judge", "--brief",
		file).CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, said)
	}
}

// startHTTPRecorder starts the program as a proxy for a server; it returns the URL, and a function that ends the
// program.
func startHTTPRecorder(t testing.TB, program, file, server string) (at string, end func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program,
		"record", "--out", file, "--url", server, "--listen", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(said, "give clients ")
	at, rest, _ = strings.Cut(rest, " in the place of ")
	if rest != server+"; Ctrl-C ends\n" {
		t.Fatal(said)
	}
	return at, func() {
		t.Helper()
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}
