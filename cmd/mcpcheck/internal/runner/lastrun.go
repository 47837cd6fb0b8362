package runner

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/target"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// lastRun is what mcpcheck stores about the runs of a server, for --last-failed and explain --last: each check that
// failed when it was last tested.
type lastRun struct {
	// Version is the version of the file format.
	Version int `json:"version"`
	// Ended is the time at which the last run ended.
	Ended  time.Time     `json:"ended"`
	Failed []failedCheck `json:"failed"`
}

// failedCheck is a check that failed.
type failedCheck struct {
	ID string `json:"id"`
	// TriggeredBy are the ids of checks that cause the messages which a watch observes.
	TriggeredBy []string `json:"provokedBy,omitempty"`
	// Blocked says that the result counted against the exit code of the last run.
	Blocked bool `json:"blocked,omitempty"`
	// OnlyInconclusive says that it did so only because it was inconclusive.
	OnlyInconclusive bool `json:"undecided,omitempty"`
}

const (
	lastRunVersion  = 2
	maxLastRunBytes = 1 << 20
	maxLastRuns     = 200 // files; older ones are removed
)

// addReport updates the failures with the results of a run. Checks that were not judged in it stay as they were, except
// that Blocked always refers to this run.
func (l *lastRun) addReport(r report.Report) {
	judged, open, failed := map[string]bool{}, map[string]bool{}, map[string]failedCheck{}
	for _, x := range r.Results {
		fails := x.Verdict == catalogue.Fail || x.Verdict == catalogue.Error
		switch {
		case x.Area() == "advice" && !x.Gates && (r.Options == nil || !r.Options.Advice): // not shown
		case x.Reason == report.NotTried: // skipped by a quick run
		case fails || x.Gates:
			was, again := failed[x.ID]
			failed[x.ID] = failedCheck{
				x.ID, x.TriggeredBy, x.Gates || was.Blocked, !fails && (!again || was.OnlyInconclusive),
			}
		case x.Verdict == catalogue.Pass || x.Verdict == catalogue.Skip:
			judged[x.ID] = true
		default:
			open[x.ID] = true
		}
	}
	for _, old := range l.Failed {
		if _, again := failed[old.ID]; again || judged[old.ID] || open[old.ID] && old.OnlyInconclusive {
			continue
		}
		old.Blocked = false
		failed[old.ID] = old
	}
	took := time.Duration(r.Seconds * float64(time.Second))
	l.Version, l.Ended, l.Failed = lastRunVersion, r.Started.Add(took), []failedCheck{}
	for _, id := range slices.Sorted(maps.Keys(failed)) {
		l.Failed = append(l.Failed, failed[id])
	}
}

// lastRunFile returns the file that stores the last run of a target; it is empty when the user has no cache directory.
func lastRunFile(t *target.Target) string {
	all := lastRunDir()
	dir, err := filepath.Abs(cmp.Or(t.Dir, "."))
	if err != nil || all == "" {
		return ""
	}
	key := sha256.Sum256(text.CompactJSON([]any{dir, t.Redactor.Texts(t.Command), t.Redactor.Text(t.URL)}))
	return filepath.Join(all, hex.EncodeToString(key[:16])+".json")
}

// lastRunDir returns the directory of these files; it is empty when the user has no cache directory.
func lastRunDir() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "mcpcheck", "last-run")
}

// loadLastRun returns the last run of a target; nil means that none is stored.
func loadLastRun(t *target.Target) *lastRun { return readLastRun(lastRunFile(t)) }

// readLastRun returns the last run in a file; nil means that there is none.
func readLastRun(name string) *lastRun {
	said, err := files.ReadAtMost(name, maxLastRunBytes)
	last := &lastRun{}
	if err != nil || json.Unmarshal(said, last) != nil || last.Version != lastRunVersion {
		return nil
	}
	return last
}

// latestRun returns the run that ended last, of any target; nil means that none is stored.
func latestRun() (last *lastRun) {
	entries, _ := os.ReadDir(lastRunDir())
	for _, entry := range entries {
		run := readLastRun(filepath.Join(lastRunDir(), entry.Name()))
		if run != nil && (last == nil || run.Ended.After(last.Ended)) {
			last = run
		}
	}
	return last
}

// BlockedInLastRun returns the checks that counted against the exit code in the run that ended last, of any server. It
// prints which run that is.
func BlockedInLastRun(stderr io.Writer) (ids []string, err error) {
	last := latestRun()
	if last == nil {
		return nil, exit.Usagef("--last: no run is known on this machine; start with mcpcheck run")
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

// saveLastRun stores the failures of a run. The file is only a convenience, so errors are ignored.
func saveLastRun(t *target.Target, r report.Report) {
	name := lastRunFile(t)
	if name == "" || os.MkdirAll(filepath.Dir(name), 0o700) != nil {
		return
	}
	last := loadLastRun(t)
	if last == nil {
		last = &lastRun{}
	}
	last.addReport(r)
	if files.Replace(name, append(text.CompactJSON(last), '\n')) == nil {
		pruneFiles(filepath.Dir(name), maxLastRuns)
	}
}

// pruneFiles removes all but the newest files of a directory.
func pruneFiles(dir string, keep int) {
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
	names := slices.Sorted(maps.Keys(changed))
	slices.SortStableFunc(names, func(a, b string) int { return changed[b].Compare(changed[a]) })
	for _, name := range names[min(keep, len(names)):] {
		os.Remove(filepath.Join(dir, name))
	}
}

// restrictToLastFailed restricts the options to what failed in the last run of the target, if --last-failed asks for
// that, and says so. When no failure is known, everything selected runs.
func restrictToLastFailed(v *config.Options, t *target.Target, stderr io.Writer) error {
	if !v.Flags.IsGiven("last-failed") {
		return nil
	}
	last, err := loadLastFailed(v.Flags.LastFailed, t)
	if err != nil {
		return err
	}
	said := "no earlier run of this server on this machine; running everything selected"
	if last != nil {
		ids := selectedIDs(v, last.Failed)
		when := last.Ended.Local().Format(time.DateTime)
		if said = "nothing selected failed at " + when + "; running everything selected"; len(ids) > 0 {
			said = fmt.Sprintf("running the %s that failed at %s", reporters.Plural(len(ids), "check"), when)
			err = restrictTo(v, last.Failed)
		}
	}
	if !v.Flags.Quiet {
		fmt.Fprintln(stderr, "mcpcheck: --last-failed:", said)
	}
	return err
}

// loadLastFailed returns the last run: that of the report that --last-failed names, or else the stored one of the
// target.
func loadLastFailed(l config.LastFailedFlag, t *target.Target) (*lastRun, error) {
	if l == config.NoReportName {
		return loadLastRun(t), nil
	}
	if l == "" {
		return nil, exit.Usagef("--last-failed is empty; give it a JSON report, or leave out the =")
	}
	reports, err := ReadReports([]string{string(l)})
	if err != nil {
		return nil, err
	}
	last := &lastRun{}
	last.addReport(reports[0].Report)
	return last, nil
}

// selectedIDs returns the ids of those failed checks that the options select.
func selectedIDs(v *config.Options, failed []failedCheck) (ids []string) {
	for _, f := range failed {
		if r, known := suites.Find(f.ID); known && suites.HasCheck(r) && v.Selector(r) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// restrictTo selects only the selected checks that failed, and the checks that trigger them.
func restrictTo(v *config.Options, failed []failedCheck) (err error) {
	ids := selectedIDs(v, failed)
	for _, f := range failed {
		if !slices.Contains(ids, f.ID) {
			continue
		}
		for _, id := range f.TriggeredBy {
			if r, known := suites.Find(id); known && suites.HasCheck(r) && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	v.Only = ids
	v.Selector, err = config.SelectChecks(ids, config.SkipSelectors(v.Skip))
	return err
}
