package catalogue

import (
	"encoding"
	"fmt"
	"slices"
	"strings"
)

// Level is how strongly the specification binds a server, from weakest to strongest so that levels can be compared.
type Level int

// The levels. Advice is good practice without a sentence of the specification.
const (
	Advice Level = iota + 1
	May
	Should
	Must
)

var levelNames = map[Level]string{Advice: "ADVICE", May: "MAY", Should: "SHOULD", Must: "MUST"}

func (l Level) String() string { return levelNames[l] }

// MarshalText writes the keyword: "MUST".
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a keyword in capitals.
func (l *Level) UnmarshalText(text []byte) error {
	for level, name := range levelNames {
		if name == string(text) {
			*l = level
			return nil
		}
	}
	return fmt.Errorf("unknown level %q (have MUST, SHOULD, MAY, ADVICE)", text)
}

var _ encoding.TextUnmarshaler = (*Level)(nil)

// Verdict is what a check came to on one server in one revision.
type Verdict string

// The verdicts. A check never passes on nothing observed: what does not apply is skip, what applies and could not be
// tried is inconclusive, and both say why.
const (
	Pass         Verdict = "pass"
	Fail         Verdict = "fail"
	Skip         Verdict = "skip"
	Inconclusive Verdict = "inconclusive"
	Error        Verdict = "error" // mcpcheck's own fault
)

// Verdicts in the order in which reports count them.
var Verdicts = []Verdict{Pass, Fail, Inconclusive, Skip, Error}

// Profile decides which fails count against the exit code. It never changes a verdict.
type Profile string

// The profiles.
const (
	Release Profile = "release" // MUSTs of the specification and the release checklist
	Spec    Profile = "spec"    // MUSTs of the specification only
	Strict  Profile = "strict"  // MUSTs, SHOULDs, the checklist, and MUSTs that could not be tried

	Directory Profile = "directory" // what directories of servers ask, and nothing else
)

// Profiles in the order in which help texts name them.
var Profiles = []Profile{Release, Spec, Strict, Directory}

// ParseProfile reads a profile's name.
func ParseProfile(name string) (Profile, error) {
	if slices.Contains(Profiles, Profile(name)) {
		return Profile(name), nil
	}
	names := make([]string, len(Profiles))
	for i, p := range Profiles {
		names[i] = string(p)
	}
	return "", fmt.Errorf("unknown profile %q (have %s)", name, strings.Join(names, ", "))
}

// Gate is why a result counts against the exit code; empty when it does not.
type Gate string

// The reasons to gate.
const (
	NoGate           Gate = ""
	GateMust         Gate = "MUST"
	GateChecklist    Gate = "checklist"
	GateStrict       Gate = "strict"
	GateInconclusive Gate = "inconclusive"
	GateDirectory    Gate = "directory"
)

// Gate decides whether a result of this level and verdict gates under the profile. A lesser deviation of a checklist
// entry, one whose level is below that of its entry, does not gate by the checklist. asked says whether a directory of
// servers asks for what the entry is about.
func (p Profile) Gate(v Verdict, level, entry Level, checklist, asked bool) Gate {
	switch {
	case p == Directory && v == Fail && asked:
		return GateDirectory
	case p == Directory:
		return NoGate
	case v == Inconclusive && p == Strict && level == Must:
		return GateInconclusive
	case v != Fail:
		return NoGate
	case level == Must:
		return GateMust
	case checklist && level == entry && p != Spec:
		return GateChecklist
	case level == Should && p == Strict:
		return GateStrict
	}
	return NoGate
}

// IgnoresKnownDeviations reports whether a fail that is a known deviation of an SDK does not gate, unless the operator
// wants it to: nothing that the author of a server writes changes it.
func (p Profile) IgnoresKnownDeviations() bool { return p == Release || p == Spec }
