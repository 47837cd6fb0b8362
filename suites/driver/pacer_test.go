package driver

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestPacer proves that a refused request is waited for as long as the response asks, and that the requests after it
// are sent at less than the rate that was granted.
func TestPacer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pacer
		for range 11 { // ten are granted at once
			p.await(t.Context())
		}
		if !p.isRefused(refusal(http.StatusTooManyRequests, "2")) {
			t.Fatal("Retry-After is ignored")
		}
		begin := time.Now()
		p.await(t.Context())
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("the request was sent again after %v", took)
		}
		begin = time.Now()
		for range 9 {
			p.await(t.Context())
		}
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("nine more requests took %v, not 2 s for 4.5 a second", took)
		}
	})
}

// TestPacerFindsTheRate proves that the rate approaches the one that is granted, and remains below it from then on.
func TestPacerFindsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const granted = 10
		var p pacer
		window, n, refusals, begin := time.Now(), 0, 0, time.Time{}
		for sent := range 1000 {
			if sent == 500 {
				begin, refusals = time.Now(), 0
			}
			if p.await(t.Context()); sent < 8 {
				time.Sleep(200 * time.Millisecond) // the first requests wait for each other
			}
			if time.Since(window) >= time.Second {
				window, n = time.Now(), 0
			}
			if n++; n > granted {
				p.isRefused(refusal(http.StatusTooManyRequests, "1"))
				refusals++
			}
		}
		if took := time.Since(begin); took > time.Minute || refusals > 0 {
			t.Errorf("500 requests took %v, and %d were refused", took, refusals)
		}
	})
}

// TestPacerRemainsBelowItsBound proves that the rate that the operator gives is never raised.
func TestPacerRemainsBelowItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pacer
		p.bound(10)
		begin := time.Now()
		for range 1001 {
			p.await(t.Context())
		}
		if took := time.Since(begin).Round(time.Millisecond); took != 100*time.Second {
			t.Errorf("1,000 requests took %v", took)
		}
	})
}

// TestPacerSetsNoRate proves that requests are as quick as before after a server that was not ready, and after refusals
// of so few requests that they do not tell the rate.
func TestPacerSetsNoRate(t *testing.T) {
	for name, tt := range map[string]struct{ sent, status int }{
		"not ready":     {20, http.StatusServiceUnavailable},
		"few requests":  {10, http.StatusTooManyRequests},
		"one and again": {1, http.StatusTooManyRequests},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p pacer
				for range tt.sent {
					p.await(t.Context())
				}
				p.isRefused(refusal(tt.status, "1"))
				begin := time.Now()
				for range 100 {
					p.await(t.Context())
				}
				if took := time.Since(begin); took != time.Second {
					t.Errorf("a hundred requests after the pause took %v", took)
				}
			})
		})
	}
}

// TestPacerRefusals proves which responses are waited for.
func TestPacerRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		after  string
		want   bool
	}{
		"seconds":                  {http.StatusTooManyRequests, "3", true},
		"at once":                  {http.StatusServiceUnavailable, "0", true},
		"a date":                   {http.StatusServiceUnavailable, "Sat, 01 Jan 2000 00:00:05 GMT", true},
		"no Retry-After":           {http.StatusTooManyRequests, "", false},
		"longer than it waits":     {http.StatusTooManyRequests, "3600", false},
		"a negative number":        {http.StatusTooManyRequests, "-1", false},
		"the status of a success":  {http.StatusOK, "3", false},
		"the status of a redirect": {http.StatusFound, "3", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // in which it is 2000-01-01
				if got := new(pacer).isRefused(refusal(tt.status, tt.after)); got != tt.want {
					t.Errorf("it is %v", got)
				}
			})
		})
	}
}

// TestPacerBounds proves that the waits of a run are bounded in sum, and that a rate of the operator holds.
func TestPacerBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pacer
		refusals := 0
		for p.isRefused(refusal(http.StatusTooManyRequests, "30")) {
			refusals++
			p.await(t.Context())
		}
		if refusals != 4 {
			t.Errorf("%d refusals of 30 s each were waited for, not two minutes", refusals)
		}
		var bounded pacer
		bounded.bound(5)
		begin := time.Now()
		for range 6 {
			bounded.await(t.Context())
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("five requests after the first took %v at five a second", took)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		bounded.await(ended) // must not wait
	})
}

func refusal(status int, after string) *http.Response {
	h := http.Header{}
	if after != "" {
		h.Set("Retry-After", after)
	}
	return &http.Response{StatusCode: status, Header: h}
}
