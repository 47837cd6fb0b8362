package catalogue

import (
	"encoding"
	"fmt"
	"slices"
	"strings"
)

// Level is how strongly a requirement binds a server. Levels are ordered from the weakest to the strongest.
type Level int

// The levels. Advice is a recommendation without a sentence in the specification.
const (
	Advice Level = iota + 1
	May
	Should
	Must
)

var levelNames = map[Level]string{Advice: "ADVICE", May: "MAY", Should: "SHOULD", Must: "MUST"}

func (l Level) String() string { return levelNames[l] }

// MarshalText returns the keyword: "MUST".
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText parses a keyword in capitals.
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

// Verdict is the outcome of a check for one server in one revision.
type Verdict string

// The verdicts. A check passes only if it has observed something. It is a skip if it does not apply, and inconclusive
// if it applies but could not be tried; both have a reason.
const (
	Pass         Verdict = "pass"
	Fail         Verdict = "fail"
	Skip         Verdict = "skip"
	Inconclusive Verdict = "inconclusive"
	Error        Verdict = "error" // a fault of mcpcheck
)

// Verdicts are all verdicts, in the order in which reports count them.
var Verdicts = []Verdict{Pass, Fail, Inconclusive, Skip, Error}

// Profile decides which results count against the exit code. It never changes a verdict.
type Profile string

// The profiles.
const (
	Release Profile = "release" // MUSTs of the specification and the release checklist
	Spec    Profile = "spec"    // only MUSTs of the specification
	Strict  Profile = "strict"  // MUSTs, SHOULDs, the checklist, and MUSTs that could not be tried

	Directory Profile = "directory" // only listing rules of public directories; directory:claude: those of one
)

// Profiles are all profiles, in the order of help texts; directory stands for those of the single directories as well.
var Profiles = []Profile{Release, Spec, Strict, Directory}

// ProfilesByName are all profiles with those of single directories.
func ProfilesByName() []Profile {
	all := slices.Clone(Profiles)
	for _, id := range DirectoryIDs {
		all = append(all, Directory+":"+Profile(id))
	}
	return all
}

// ParseProfile returns the profile with the given name.
func ParseProfile(name string) (Profile, error) {
	if slices.Contains(ProfilesByName(), Profile(name)) {
		return Profile(name), nil
	}
	var names []string
	for _, p := range ProfilesByName() {
		names = append(names, string(p))
	}
	return "", fmt.Errorf("unknown profile %q (have %s)", name, strings.Join(names, ", "))
}

// Gate says why a result counts against the exit code; empty when it does not.
type Gate string

// The reasons why a result blocks.
const (
	NoGate           Gate = ""
	GateMust         Gate = "MUST"
	GateChecklist    Gate = "checklist"
	GateStrict       Gate = "strict"
	GateInconclusive Gate = "inconclusive"
	GateDirectory    Gate = "directory"
)

// IsDirectory reports whether the profile is about listing rules of directories, and nothing else.
func (p Profile) IsDirectory() bool {
	return p == Directory || strings.HasPrefix(string(p), string(Directory)+":")
}

// Rules returns the listing rules that the profile is about, of those of a requirement.
func (p Profile) Rules(all []DirectoryRule) (rules []DirectoryRule) {
	_, id, single := strings.Cut(string(p), ":")
	for _, r := range all {
		if p.IsDirectory() && (!single || strings.HasPrefix(r.ID, id+"/")) {
			rules = append(rules, r)
		}
	}
	return rules
}

// Gate returns why a result blocks under the profile. level is that of the result, entry that of its requirement. A
// minor violation, whose level is below that of its requirement, does not block by the checklist. The rules are those
// of directories that demand what the requirement is about.
func (p Profile) Gate(v Verdict, level, entry Level, checklist bool, rules []DirectoryRule) Gate {
	switch {
	case v == Fail && len(p.Rules(rules)) > 0:
		return GateDirectory
	case p.IsDirectory():
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

// IgnoresKnownDeviations reports whether a fail that is a known deviation of an SDK does not block, unless the operator
// wants it to: the author of the server cannot fix it.
func (p Profile) IgnoresKnownDeviations() bool { return p == Release || p == Spec }
