//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// BenchmarkLoad measures the generator of mcpcheck load on one core against a handler that does next to nothing: how
// many requests a second it sends, and how much CPU time each takes, which other work on the machine does not change.
// Where ab is installed, the same handler is measured with it, which counts by one thread as well.
func BenchmarkLoad(b *testing.B) {
	site := httptest.NewServer(http.HandlerFunc(servePing))
	defer site.Close()
	self, file := buildProgram(b), filepath.Join(b.TempDir(), "load.json")
	var spent [2]time.Duration
	var sent [2]int64
	for b.Loop() {
		var l report.Load
		for i, duration := range []string{"1s", "6s"} {
			cmd := exec.Command(self, "load", "--clients", "16", "--warmup", "0s", "--duration", duration,
				"--calls", "none", "--json", file, "--url", site.URL)
			cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			content, err := os.ReadFile(file)
			if err != nil || json.Unmarshal(content, &l) != nil {
				b.Fatal("no report:", err)
			}
			sent[i], spent[i] = l.All.Count, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
		}
		b.ReportMetric(l.All.PerSecond, "requests/s")
		b.ReportMetric(l.All.P50*1000, "µs-p50")
	}
	// What is done once, such as the checks before and after, is in both loads.
	b.ReportMetric(float64((spent[1]-spent[0]).Microseconds())/float64(sent[1]-sent[0]), "CPU-µs/request")
	if perSecond, ok := runAB(b, site.URL); ok {
		b.ReportMetric(perSecond, "ab-requests/s")
	} else {
		b.Log("there is no ab here (apache2-utils): the generator is measured alone")
	}
}

// runAB sends the same request by as many clients with ab, and returns its rate.
func runAB(b *testing.B, url string) (perSecond float64, ok bool) {
	program, err := exec.LookPath("ab")
	if err != nil {
		return 0, false
	}
	body := filepath.Join(b.TempDir(), "ping.json")
	if err := os.WriteFile(body, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), 0o600); err != nil {
		b.Fatal(err)
	}
	out, err := exec.Command(program, "-k", "-c", "16", "-t", "5", "-n", "10000000", "-p", body,
		"-T", "application/json", url+"/").CombinedOutput()
	rate := regexp.MustCompile(`Requests per second: +([0-9.]+)`).FindSubmatch(out)
	if rate == nil {
		b.Fatalf("%v\n%s", err, out)
	}
	perSecond, _ = strconv.ParseFloat(string(rate[1]), 64)
	return perSecond, true
}

// servePing answers initialize and ping.
func servePing(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Params struct{ ProtocolVersion string }
	}
	json.Unmarshal(body, &m)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case bytes.Contains(body, []byte(`"initialize"`)):
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{},`+
			`"serverInfo":{"name":"ping","version":"1"}}}`, m.ID, m.Params.ProtocolVersion)
	case bytes.Contains(body, []byte(`"ping"`)):
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	default:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID)
	}
}
