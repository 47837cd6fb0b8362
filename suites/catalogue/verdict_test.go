package catalogue

import "testing"

func TestGate(t *testing.T) {
	asked := []DirectoryRule{{ID: "claude/tool-title"}, {ID: "openai/tool-hints"}}
	tests := []struct {
		name         string
		profile      Profile
		verdict      Verdict
		level, entry Level
		checklist    bool
		rules        []DirectoryRule
		want         Gate
	}{
		{"a MUST blocks by default", Release, Fail, Must, Must, false, nil, GateMust},
		{"a MUST blocks by the specification", Spec, Fail, Must, Must, true, nil, GateMust},
		{"a SHOULD does not block", Release, Fail, Should, Should, false, nil, NoGate},
		{"a SHOULD on the checklist blocks", Release, Fail, Should, Should, true, nil, GateChecklist},
		{"the specification ignores the checklist", Spec, Fail, Should, Should, true, nil, NoGate},
		{"a minor violation does not block by the checklist", Release, Fail, Should, Must, true, nil, NoGate},
		{"advice on the checklist blocks", Release, Fail, Advice, Advice, true, nil, GateChecklist},
		{"strict blocks on SHOULDs", Strict, Fail, Should, Must, false, nil, GateStrict},
		{"strict blocks on an inconclusive MUST", Strict, Inconclusive, Must, Must, false, nil, GateInconclusive},
		{"strict ignores an untested SHOULD", Strict, Inconclusive, Should, Should, false, nil, NoGate},
		{"strict does not block on advice", Strict, Fail, Advice, Advice, false, nil, NoGate},
		{"a pass never blocks", Strict, Pass, Must, Must, true, nil, NoGate},
		{"a skip never blocks", Strict, Skip, Must, Must, true, nil, NoGate},
		{"directory blocks on listing rules", Directory, Fail, Advice, Advice, false, asked, GateDirectory},
		{"directory blocks on nothing else", Directory, Fail, Must, Must, true, nil, NoGate},
		{"directory ignores inconclusive results", Directory, Inconclusive, Must, Must, false, asked, NoGate},
		{"a directory blocks on its own rules", "directory:claude", Fail, Should, Must, false, asked, GateDirectory},
		{"a directory does not block on those of another one",
			"directory:docker", Fail, Must, Must, true, asked, NoGate},
		{"listing rules block under no other profile", Strict, Fail, Advice, Advice, false, asked, NoGate},
	}
	for _, tt := range tests {
		if got := tt.profile.Gate(tt.verdict, tt.level, tt.entry, tt.checklist, tt.rules); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestParseProfile(t *testing.T) {
	for _, name := range []Profile{Release, Spec, Strict, Directory, "directory:claude"} {
		if got, err := ParseProfile(string(name)); got != name || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if _, err := ParseProfile("lax"); err == nil ||
		err.Error() != `unknown profile "lax" (have release, spec, strict, directory, `+
			`directory:claude, directory:openai, directory:registry, directory:docker, directory:smithery)` {
		t.Errorf("got %v", err)
	}
}
