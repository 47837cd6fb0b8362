package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// These are the Kubernetes objects of the example. Members are those of the Kubernetes API (batch/v1, core/v1); any
// other member is an error in the manifest.
type (
	kubeObject struct {
		APIVersion string            `yaml:"apiVersion"`
		Kind       string            `yaml:"kind"`
		Metadata   kubeMetadata      `yaml:"metadata"`
		Data       map[string]string `yaml:"data"`
		Spec       kubeSpec          `yaml:"spec"`
	}
	kubeMetadata struct {
		Name   string            `yaml:"name"`
		Labels map[string]string `yaml:"labels"`
	}
	kubeSpec struct {
		AccessModes             []string      `yaml:"accessModes"`
		Resources               kubeResources `yaml:"resources"`
		CompletionMode          string        `yaml:"completionMode"`
		Completions             int           `yaml:"completions"`
		Parallelism             int           `yaml:"parallelism"`
		BackoffLimit            *int          `yaml:"backoffLimit"`
		BackoffLimitPerIndex    *int          `yaml:"backoffLimitPerIndex"`
		TTLSecondsAfterFinished *int          `yaml:"ttlSecondsAfterFinished"`
		Template                struct {
			Metadata kubeMetadata `yaml:"metadata"`
			Spec     kubePod      `yaml:"spec"`
		} `yaml:"template"`
	}
	kubePod struct {
		RestartPolicy                string          `yaml:"restartPolicy"`
		AutomountServiceAccountToken *bool           `yaml:"automountServiceAccountToken"`
		SecurityContext              kubeSecurity    `yaml:"securityContext"`
		Containers                   []kubeContainer `yaml:"containers"`
		Volumes                      []struct {
			Name      string `yaml:"name"`
			ConfigMap *struct {
				Name string `yaml:"name"`
			} `yaml:"configMap"`
			PersistentVolumeClaim *struct {
				ClaimName string `yaml:"claimName"`
			} `yaml:"persistentVolumeClaim"`
		} `yaml:"volumes"`
	}
	kubeSecurity struct {
		RunAsNonRoot bool `yaml:"runAsNonRoot"`
		RunAsUser    int  `yaml:"runAsUser"`
		FSGroup      int  `yaml:"fsGroup"`
	}
	kubeResources struct {
		Requests map[string]string `yaml:"requests"`
		Limits   map[string]string `yaml:"limits"`
	}
	kubeContainer struct {
		Name    string   `yaml:"name"`
		Image   string   `yaml:"image"`
		Command []string `yaml:"command"`
		Args    []string `yaml:"args"`
		Env     []struct {
			Name  string `yaml:"name"`
			Value string `yaml:"value"`
		} `yaml:"env"`
		Resources    kubeResources `yaml:"resources"`
		VolumeMounts []struct {
			Name      string `yaml:"name"`
			MountPath string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
	}
)

// kubeExample returns the objects of the manifest by kind and name.
func kubeExample(t *testing.T) map[string]kubeObject {
	t.Helper()
	content := readFile(t, filepath.Join("..", "..", ".github", "examples", "kubernetes-fleet.yaml"))
	objects := map[string]kubeObject{}
	decoder := yaml.NewDecoder(strings.NewReader(content))
	decoder.KnownFields(true)
	for {
		var o kubeObject
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"ConfigMap": "v1", "PersistentVolumeClaim": "v1", "Job": "batch/v1"}[o.Kind]
		if want == "" || o.APIVersion != want || o.Metadata.Labels["step"] == "" {
			t.Errorf("%s %s is of %q, with the labels %v", o.Kind, o.Metadata.Name, o.APIVersion, o.Metadata.Labels)
		}
		objects[o.Kind+"/"+o.Metadata.Name] = o
	}
}

// TestKubernetesExample checks that the objects of the manifest fit together, and runs its commands: the pods of all
// indices, of which one is killed and restarted, and then the page.
func TestKubernetesExample(t *testing.T) {
	t.Parallel()
	objects := kubeExample(t)
	shards, page := objects["Job/mcpcheck-shards"].Spec, objects["Job/mcpcheck-page"].Spec
	for name, job := range map[string]kubeSpec{"shards": shards, "page": page} {
		pod := job.Template.Spec
		if len(pod.Containers) != 1 || pod.RestartPolicy != "Never" {
			t.Fatalf("%s: %d containers, restart policy %q", name, len(pod.Containers), pod.RestartPolicy)
		}
		volumes := map[string]bool{}
		for _, v := range pod.Volumes {
			volumes[v.Name] = v.ConfigMap != nil && objects["ConfigMap/"+v.ConfigMap.Name].Data["fleet.yaml"] != "" ||
				v.PersistentVolumeClaim != nil &&
					objects["PersistentVolumeClaim/"+v.PersistentVolumeClaim.ClaimName].Kind != ""
		}
		for _, mount := range pod.Containers[0].VolumeMounts {
			if !volumes[mount.Name] || !strings.Contains(strings.Join(pod.Containers[0].Args, ""), mount.MountPath) {
				t.Errorf("%s: %s is no volume of the manifest, or not used", name, mount.Name)
			}
		}
	}
	script := strings.Join(shards.Template.Spec.Containers[0].Args, "\n")
	part := fmt.Sprintf("--shard auto/%d ", shards.Completions)
	if shards.CompletionMode != "Indexed" || !strings.Contains(script, part) {
		t.Errorf("%d completions of a job that is %s run\n%s", shards.Completions, shards.CompletionMode, script)
	}
	if runtime.GOOS == "windows" {
		t.Skip("the commands are a POSIX shell's")
	}
	dir := newExampleDir(t)
	inPod := func(spec kubeSpec, env ...string) error {
		script := strings.NewReplacer("/lists/", dir+"/", "--out /out", "--out "+dir+"/out").
			Replace(spec.Template.Spec.Containers[0].Args[0])
		return runExample(t, dir, script, env...)
	}
	for i := range shards.Completions {
		if err := inPod(shards, fmt.Sprint("JOB_COMPLETION_INDEX=", i)); err != nil {
			t.Errorf("pod %d: %v", i, err)
		}
	}
	if err := inPod(page); scriptExitCode(err) != 1 {
		t.Errorf("the page: %v", err)
	}
	expectFleetPage(t, filepath.Join(dir, "out", "index.md"))
}

// TestGitHubExamples runs the commands of the workflows for each value of their matrix; actionlint, which .ci/run
// starts, checks the rest.
func TestGitHubExamples(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are a POSIX shell's")
	}
	for name, last := range map[string]string{"github-fleet.yml": "page", "github-run.yml": "verdict"} {
		t.Run(name, func(t *testing.T) {
			var workflow struct {
				Jobs map[string]struct {
					Strategy struct {
						Matrix struct{ Shard []int }
					}
					Steps []struct {
						Run  string
						If   string
						With map[string]any
					}
				}
			}
			content := readFile(t, filepath.Join("..", "..", ".github", "examples", name))
			if err := yaml.Unmarshal([]byte(content), &workflow); err != nil {
				t.Fatal(err)
			}
			dir := newExampleDir(t)
			job := workflow.Jobs["shard"]
			for _, i := range job.Strategy.Matrix.Shard {
				for _, step := range job.Steps {
					script := strings.ReplaceAll(step.Run, "${{ matrix.shard }}", fmt.Sprint(i))
					if !strings.Contains(script, "--shard") {
						continue
					}
					if !strings.Contains(script, fmt.Sprintf("--shard %d/%d ", i, len(job.Strategy.Matrix.Shard))) {
						t.Errorf("of %d shards, one runs %s", len(job.Strategy.Matrix.Shard), script)
					}
					// The last job downloads the artifacts of all shards to one directory.
					script = strings.ReplaceAll(script, "--out shard", "--out page")
					if err := runExample(t, dir, script); err != nil {
						t.Errorf("shard %d: %v", i, err)
					}
				}
			}
			code := 0
			for _, step := range workflow.Jobs[last].Steps {
				if step.Run == "" {
					continue
				}
				err := runExample(t, dir, step.Run, "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary.md"))
				code = max(code, scriptExitCode(err))
			}
			if name == "github-run.yml" {
				if code != 0 || !strings.Contains(readFile(t, filepath.Join(dir, "summary.md")), "conforms") {
					t.Errorf("exit code %d", code)
				}
				return
			}
			if code != 1 {
				t.Errorf("exit code %d, want that of a server that does not conform", code)
			}
			expectFleetPage(t, filepath.Join(dir, "summary.md"))
		})
	}
}

// newExampleDir makes the directory of a project with a list of three servers, and with programs that mcpcheck does not
// need.
func newExampleDir(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"fleet.yaml": "servers:\n  honest: {command: [mcpcheck, serve], only: [ping], protocol: 2025-11-25}\n" +
			"  gone: {command: [no-such-command]}\n" +
			"  faulty: {command: [mcpcheck, serve, --fault, ping/empty-result], only: [ping], protocol: 2025-11-25}\n",
		"mcpcheck.yaml": "only: [ping]\nprotocol: 2025-11-25\n",
		"bin/npx": "#!/bin/sh\ntest \"$1 $2\" = '--yes mcpcheck@1.0.0' || exit 9\nshift 2\n" +
			"exec mcpcheck \"$@\"\n",
		"bin/node": "#!/bin/sh\nexec mcpcheck serve\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runExample runs a script as its CI system does.
func runExample(t *testing.T, dir, script string, env ...string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = dir
	path := "PATH=" + filepath.Join(dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH")
	cmd.Env = append(append(os.Environ(), path), env...)
	out, err := cmd.CombinedOutput()
	t.Logf("%s\n%s", script, out)
	return err
}

// scriptExitCode returns the exit code of a script.
func scriptExitCode(err error) int {
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		return exited.ExitCode()
	}
	return 0
}

// expectFleetPage checks that a page has the three servers.
func expectFleetPage(t *testing.T, file string) {
	t.Helper()
	const want = "1 does not conform · 1 could not be tested · 1 conforms"
	if page := readFile(t, file); !strings.Contains(page, want) {
		t.Errorf("want %s, got\n%s", want, page)
	}
}
