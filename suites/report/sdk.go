package report

// SDKInfo identifies the SDK that a failure comes from.
type SDKInfo struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Versions are the versions with the deviation.
	Versions string `json:"versions"`
	// Issue is a URL.
	Issue string `json:"issue,omitempty"`
}
