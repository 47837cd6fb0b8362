package catalogue

import "testing"

func TestReadDirectoriesRejects(t *testing.T) {
	for text, want := range map[string]string{
		"claude: {name: C, rules: [{id: openai/x}]}": "openai/x is not a rule of claude",
		"other: {name: O}":                           "other is not one of DirectoryIDs",
	} {
		if _, err := ReadDirectories([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if _, err := ReadDirectories([]byte("- a")); err == nil {
		t.Error("a list is not an error")
	}
}
