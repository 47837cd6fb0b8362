package catalogue

import "testing"

func TestGate(t *testing.T) {
	tests := []struct {
		name         string
		profile      Profile
		verdict      Verdict
		level, entry Level
		checklist    bool
		asked        bool
		want         Gate
	}{
		{"a MUST blocks by default", Release, Fail, Must, Must, false, false,
			GateMust},
		{"a MUST blocks by the specification", Spec, Fail, Must, Must, true,
			false, GateMust},
		{"a SHOULD does not block", Release, Fail, Should, Should, false, false,
			NoGate},
		{"a SHOULD on the checklist blocks", Release, Fail, Should, Should,
			true,
			false, GateChecklist},
		{"the specification ignores the checklist", Spec, Fail, Should,
			Should, true, false, NoGate},
		{"a minor violation does not block by the checklist", Release, Fail, Should,
			Must, true, false, NoGate},
		{"advice on the checklist blocks", Release, Fail, Advice, Advice, true,
			false, GateChecklist},
		{"strict blocks on SHOULDs", Strict, Fail, Should, Must, false, false,
			GateStrict},
		{"strict blocks on an inconclusive MUST", Strict, Inconclusive, Must,
			Must, false, false, GateInconclusive},
		{"strict ignores an untested SHOULD", Strict, Inconclusive, Should,
			Should, false,
			false, NoGate},
		{"strict does not block on advice", Strict, Fail, Advice, Advice,
			false, false,
			NoGate},
		{"a pass never blocks", Strict, Pass, Must, Must, true, false,
			NoGate},
		{"a skip never blocks", Strict, Skip, Must, Must, true, false,
			NoGate},
		{"directory blocks on listing rules", Directory, Fail, Advice, Advice,
			false, true, GateDirectory},
		{"directory blocks on nothing else", Directory, Fail, Must, Must,
			true, false,
			NoGate},
		{"directory ignores inconclusive results", Directory, Inconclusive, Must,
			Must, false, true,
			NoGate},
		{"listing rules block under no other profile", Strict, Fail, Advice,
			Advice, false, true, NoGate},
	}
	for _, tt := range tests {
		if got := tt.profile.Gate(tt.verdict, tt.level, tt.entry, tt.checklist, tt.asked); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestParseProfile(t *testing.T) {
	for _, name := range []Profile{Release, Spec, Strict} {
		if got, err := ParseProfile(string(name)); got != name || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if _, err := ParseProfile("lax"); err == nil ||
		err.Error() != `unknown profile "lax" (have release, spec, strict, directory)` {
		t.Errorf("got %v", err)
	}
}
