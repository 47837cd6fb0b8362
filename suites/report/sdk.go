package report

// SDKInfo names the SDK that a failure comes from.
type SDKInfo struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Versions string `json:"versions"`        // of which the deviation is known
	Issue    string `json:"issue,omitempty"` // URL
}
