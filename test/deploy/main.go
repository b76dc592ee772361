// Decodes rendered manifests into the types of the Kubernetes API and reports fields that these do not have.
package main

import (
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

func check(text []byte) error {
	var head struct{ Kind string }
	if err := yaml.Unmarshal(text, &head); err != nil {
		return err
	}
	switch head.Kind {
	case "Deployment":
		return yaml.UnmarshalStrict(text, &appsv1.Deployment{})
	case "Service":
		return yaml.UnmarshalStrict(text, &corev1.Service{})
	case "ConfigMap":
		return yaml.UnmarshalStrict(text, &corev1.ConfigMap{})
	case "PodDisruptionBudget":
		return yaml.UnmarshalStrict(text, &policyv1.PodDisruptionBudget{})
	}
	return fmt.Errorf("no type is known for kind %q", head.Kind)
}

func main() {
	for _, path := range os.Args[1:] {
		text, err := os.ReadFile(path)
		if err == nil {
			err = check(text)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			os.Exit(1)
		}
	}
}
