package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// lastRun is what is remembered of the runs of a server, for --last-failed and explain --last: what failed when it was
// last tested.
type lastRun struct {
	Version int        `json:"version"` // of the format
	Ended   time.Time  `json:"ended"`
	Failed  []lastFail `json:"failed"`
}

// lastFail is a check that failed.
type lastFail struct {
	ID         string   `json:"id"`
	ProvokedBy []string `json:"provokedBy,omitempty"` // checks without which a watch may see nothing
	Blocked    bool     `json:"blocked,omitempty"`    // in the last run
	Undecided  bool     `json:"undecided,omitempty"`  // and blocked by that alone
}

const (
	lastRunVersion = 2
	longestLastRun = 1 << 20
	mostLastRuns   = 200 // files; older ones are forgotten
)

// lastFailed is the value of --last-failed: a report, or nothing.
type lastFailed string

func (l *lastFailed) String() string         { return string(*l) }
func (l *lastFailed) Set(value string) error { *l = lastFailed(value); return nil }
func (l *lastFailed) Type() string           { return "" } // the help says --last-failed[=REPORT]

// noReport is the value of a --last-failed that stands alone.
const noReport = "REPORT"

// take takes in what a run came to: what was not judged in it stays as it was, but for what blocked, which this run
// alone decides.
func (l *lastRun) take(r harness.Report) {
	judged, open, failed := map[string]bool{}, map[string]bool{}, map[string]lastFail{}
	for _, x := range r.Results {
		fails := x.Verdict == harness.Fail || x.Verdict == harness.Error
		switch {
		case x.Area() == "advice" && !x.Gates && (r.Options == nil || !r.Options.Advice): // is not shown
		case x.Reason == harness.NotTried: // by a quick run
		case fails || x.Gates:
			was, again := failed[x.ID]
			failed[x.ID] = lastFail{
				x.ID, x.ProvokedBy, x.Gates || was.Blocked, !fails && (!again || was.Undecided),
			}
		case x.Verdict == harness.Pass || x.Verdict == harness.Skip:
			judged[x.ID] = true
		default:
			open[x.ID] = true
		}
	}
	for _, old := range l.Failed {
		if _, again := failed[old.ID]; again || judged[old.ID] || open[old.ID] && old.Undecided {
			continue
		}
		old.Blocked = false
		failed[old.ID] = old
	}
	took := time.Duration(r.Seconds * float64(time.Second))
	l.Version, l.Ended, l.Failed = lastRunVersion, r.Started.Add(took), []lastFail{}
	for _, id := range sortedKeys(failed) {
		l.Failed = append(l.Failed, failed[id])
	}
}

// memory is the file in which the last run of a target is remembered; empty where this user has no place for it.
func (t *target) memory() string {
	all := memories()
	dir, err := filepath.Abs(cmp.Or(t.dir, "."))
	if err != nil || all == "" {
		return ""
	}
	key := sha256.Sum256(harness.Compact([]any{dir, t.redact.texts(t.command), t.redact.text(t.url)}))
	return filepath.Join(all, hex.EncodeToString(key[:16])+".json")
}

// memories is the directory of the files in which runs are remembered; empty where this user has no place for them.
func memories() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "mcpcheck", "last-run")
}

// recall is what is remembered of a target; nil: nothing.
func (t *target) recall() *lastRun { return readLastRun(t.memory()) }

// readLastRun is the last run that a file has; nil: none.
func readLastRun(name string) *lastRun {
	text, err := readUpTo(name, longestLastRun)
	last := &lastRun{}
	if err != nil || json.Unmarshal(text, last) != nil || last.Version != lastRunVersion {
		return nil
	}
	return last
}

// latest is the run that ended last, of all that are remembered; nil: none is.
func latest() (last *lastRun) {
	entries, _ := os.ReadDir(memories())
	for _, entry := range entries {
		run := readLastRun(filepath.Join(memories(), entry.Name()))
		if run != nil && (last == nil || run.Ended.After(last.Ended)) {
			last = run
		}
	}
	return last
}

// blockedLast are the checks that blocked in the run that ended last, of any server. It says which run that is.
func blockedLast(stderr io.Writer) (ids []string, err error) {
	last := latest()
	if last == nil {
		return nil, usage("--last: no run is known on this machine; start with mcpcheck run")
	}
	for _, f := range last.Failed {
		if _, known := suites.Find(f.ID); known && f.Blocked {
			ids = append(ids, f.ID)
		}
	}
	said := "nothing"
	if len(ids) > 0 {
		said = reporters.Plural(len(ids), "check")
	}
	fmt.Fprintf(stderr, "mcpcheck: --last: %s blocked at %s\n", said, last.Ended.Local().Format(time.DateTime))
	return ids, nil
}

// remember keeps what a run came to. It is a help, and no more: where it cannot be written, nothing is kept.
func (t *target) remember(r harness.Report) {
	name := t.memory()
	if name == "" || os.MkdirAll(filepath.Dir(name), 0o700) != nil {
		return
	}
	last := t.recall()
	if last == nil {
		last = &lastRun{}
	}
	last.take(r)
	if reporters.ReplaceFile(name, append(harness.Compact(last), '\n')) == nil {
		forget(filepath.Dir(name), mostLastRuns)
	}
}

// forget removes all but the newest files of a directory.
func forget(dir string, keep int) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= keep {
		return
	}
	changed := map[string]time.Time{}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			changed[entry.Name()] = info.ModTime()
		}
	}
	names := sortedKeys(changed)
	slices.SortStableFunc(names, func(a, b string) int { return changed[b].Compare(changed[a]) })
	for _, name := range names[min(keep, len(names)):] {
		os.Remove(filepath.Join(dir, name))
	}
}

// onlyLastFailed narrows the values to what failed in the last run of the target, if --last-failed asks for that, and
// says so. Where nothing is known to have failed, all is run that is selected.
func onlyLastFailed(v *values, t *target, stderr io.Writer) error {
	if !v.flags.given("last-failed") {
		return nil
	}
	last, err := v.flags.lastFailed.read(t)
	if err != nil {
		return err
	}
	said := "no earlier run of this server on this machine; running everything selected"
	if last != nil {
		ids := v.selected(last.Failed)
		when := last.Ended.Local().Format(time.DateTime)
		if said = "nothing selected failed at " + when + "; running everything selected"; len(ids) > 0 {
			said = fmt.Sprintf("running the %s that failed at %s", reporters.Plural(len(ids), "check"), when)
			err = v.narrow(last.Failed)
		}
	}
	if !v.flags.quiet {
		fmt.Fprintln(stderr, "mcpcheck: --last-failed:", said)
	}
	return err
}

// read is the last run: of the report that is named or, without one, of the target as it is remembered.
func (l lastFailed) read(t *target) (*lastRun, error) {
	if l == noReport {
		return t.recall(), nil
	}
	if l == "" {
		return nil, usage("--last-failed is empty; give it a JSON report, or leave out the =")
	}
	reports, err := readReports([]string{string(l)})
	if err != nil {
		return nil, err
	}
	last := &lastRun{}
	last.take(reports[0].Report)
	return last, nil
}

// selected are those of the checks that are selected.
func (v *values) selected(failed []lastFail) (ids []string) {
	for _, f := range failed {
		if r, known := suites.Find(f.ID); known && suites.HasCheck(r) && v.selector(r) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// narrow selects nothing but what failed, of what is selected, and what provoked that.
func (v *values) narrow(failed []lastFail) (err error) {
	ids := v.selected(failed)
	for _, f := range failed {
		if !slices.Contains(ids, f.ID) {
			continue
		}
		for _, id := range f.ProvokedBy {
			if r, known := suites.Find(id); known && suites.HasCheck(r) && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	v.Only = ids
	v.selector, err = selectChecks(ids, selectors(v.Skip))
	return err
}
