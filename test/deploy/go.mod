module holdfast/test/deploy

go 1.22

require (
	k8s.io/api v0.29.0
	sigs.k8s.io/yaml v1.3.0
)
