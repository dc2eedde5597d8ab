#!/usr/bin/env bash
# Starts a Kubernetes of one node, and runs docs/examples on it: the deployment of kubernetes.yaml, whose server leaks until
# the kernel kills it, and the CronJobs of fleet.yaml, set to every minute. Fails unless each start of the server is recorded,
# and its rows are exported and compacted. All programs run in namespaces of their own and end with this script.
# Needs Linux, root, gcc, and the programs listed below in PATH. Usage: kubernetes.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
cni=${CNI:-/usr/lib/cni} # the network plugins, as Debian installs them
node=10.88.0.1

missing() {
	local program
	for program in kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl etcd containerd ctr runc gcc ip openssl "$cni/bridge"; do
		command -v "$program" >/dev/null || echo "$program"
	done
}

# image NAME ROOT imports a root directory as an image, under a name of the examples.
image() {
	VERSION=import SOURCE_DATE_EPOCH=0 scripts/dist/image.sh "$work/image.tar" "$(go env GOARCH)=$2"
	ctr -a "$work/containerd.sock" -n k8s.io images import "$work/image.tar" >>"$work/images.log"
	ctr -a "$work/containerd.sock" -n k8s.io images tag --force docker.io/library/heaplapse:import "$1" >>"$work/images.log"
}

# copy ROOT PROGRAM… copies programs of this machine, with their libraries.
copy() {
	local root=$1 program file
	shift
	for program; do
		install -D "$(command -v "$program")" "$root/bin/$(basename "$program")"
		ldd "$(command -v "$program")" | grep -o '/[^ ]*' | while read -r file; do
			install -D "$file" "$root$file"
		done
	done
}

# roots makes the root directories of three images: heaplapse's own, one of a server, and the one that holds the namespaces
# of a pod.
roots() {
	scripts/dist/rootfs.sh "$work/heaplapse"
	gcc -O1 -g -x c -o "$work/server" - <<'C'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void handle(void) {
	static void *volatile kept;
	kept = memset(malloc(20000), 1, 20000);
}
int main(void) {
	for (;; usleep(10000)) handle();
}
C
	cp -r "$work/heaplapse" "$work/server-root"
	copy "$work/server-root" "$work/server" tar # kubectl cp runs tar
	# As in a Dockerfile, root stores the library that record preloads, because the server runs with a read-only root directory.
	mkdir "$work/server-root"/{dev,proc}
	unshare --mount "$0" --build "$work/server-root" >"$work/build.log"
	gcc -O1 -static -x c -o "$work/pause" - <<'C'
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static void end(int number) { _exit(0); }
static void reap(int number) { while (waitpid(-1, 0, WNOHANG) > 0) {} }
int main(void) {
	signal(SIGTERM, end);
	signal(SIGINT, end);
	signal(SIGCHLD, reap);
	for (;;) pause();
}
C
	scripts/dist/rootfs.sh "$work/pause-root" "$work/pause"
}

# build ROOT does what RUN does in a Dockerfile.
build() {
	mount --bind /dev "$1/dev"
	mount --bind /proc "$1/proc"
	chroot "$1" /bin/heaplapse record --or-fail -o /tmp/first -- /bin/tar --version
	rm -r "$1/tmp/first"
}

# keep FILE VALUE gives the kubelet a file in place of a setting of the kernel that it would change for the whole machine.
keep() {
	echo "$2" >"$work/setting-${1//\//-}"
	mount --bind "$work/setting-${1//\//-}" "/proc/sys/$1"
}

# directories hides what the node would write to outside of its directory, and sets its network up.
directories() {
	local dir
	for dir in /var/lib/kubelet /var/lib/cni /var/log/pods /var/log/containers; do
		mkdir -p "$work$dir" "$dir"
		mount --bind "$work$dir" "$dir"
	done
	mount -t tmpfs tmpfs /run
	keep vm/overcommit_memory 1
	keep vm/panic_on_oom 0
	keep kernel/panic 10
	keep kernel/panic_on_oops 1
	keep kernel/keys/root_maxkeys 1000000
	keep kernel/keys/root_maxbytes 25000000
	ip link set lo up
	ip link add heaps0 type bridge
	ip addr add $node/24 dev heaps0
	ip link set heaps0 up
	ip route add default via $node
}

settings() {
	mkdir "$work/net.d"
	cat >"$work/net.d/heaps.conflist" <<-END
		{"cniVersion":"0.4.0","name":"heaps","plugins":[{"type":"bridge","bridge":"heaps0","isGateway":true,
		"ipam":{"type":"host-local","ranges":[[{"subnet":"10.88.0.0/24","rangeStart":"10.88.0.10"}]]}}]}
	END
	cat >"$work/containerd.toml" <<-END
		version = 2
		root = "$work/containerd"
		state = "/run/containerd"
		[grpc]
		address = "$work/containerd.sock"
		[plugins."io.containerd.internal.v1.opt"]
		path = "$work/opt"
		[plugins."io.containerd.grpc.v1.cri"]
		sandbox_image = "registry.example/pause:1"
		restrict_oom_score_adj = true # in a virtual machine, root may not be allowed to lower it
		[plugins."io.containerd.grpc.v1.cri".cni]
		bin_dir = "$cni"
		conf_dir = "$work/net.d"
	END
	cat >"$work/kubeconfig" <<-END
		apiVersion: v1
		kind: Config
		clusters: [{name: c, cluster: {server: "https://127.0.0.1:6443", insecure-skip-tls-verify: true}}]
		users: [{name: u, user: {token: admin}}]
		contexts: [{name: x, context: {cluster: c, user: u, namespace: heaps}}]
		current-context: x
	END
	echo 'admin,admin,admin,system:masters' >"$work/tokens"
	openssl genrsa -out "$work/accounts.key" 2048 2>/dev/null
	cat >"$work/kubelet.yaml" <<-END
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		containerRuntimeEndpoint: unix://$work/containerd.sock
		cgroupDriver: cgroupfs
		failSwapOn: false
		clusterDNS: [10.89.0.10] # nothing answers there: no pod asks
		authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
		authorization: {mode: AlwaysAllow}
		evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
	END
}

# start NAME COMMAND… runs a part of Kubernetes in the background.
start() {
	local name=$1
	shift
	"$@" >"$work/$name.log" 2>&1 &
}

# await WHAT COMMAND… waits until a command succeeds, for at most five minutes.
await() {
	local what=$1
	shift
	for ((i = 0; i < 300; i++)); do
		if "$@" >/dev/null 2>&1; then return; fi
		sleep 1
	done
	echo "kubernetes.sh: in vain: $what" >&2
	kubectl get pods,jobs -o wide >&2 || true
	kubectl get events >&2 || true
	return 1
}

control_plane() {
	start etcd etcd --data-dir "$work/etcd" --unsafe-no-fsync
	start kube-apiserver kube-apiserver --etcd-servers=http://127.0.0.1:2379 --bind-address=127.0.0.1 --advertise-address=$node \
		--cert-dir="$work/certificates" --token-auth-file="$work/tokens" --authorization-mode=RBAC \
		--kubelet-preferred-address-types=InternalIP \
		--service-cluster-ip-range=10.89.0.0/24 --service-account-issuer=https://kubernetes.default.svc \
		--service-account-key-file="$work/accounts.key" --service-account-signing-key-file="$work/accounts.key"
	await "the API server answers" kubectl get --raw /readyz
	start kube-controller-manager kube-controller-manager --kubeconfig="$KUBECONFIG" --bind-address=127.0.0.1 \
		--service-account-private-key-file="$work/accounts.key" --root-ca-file="$work/certificates/apiserver.crt" --leader-elect=false
	start kube-scheduler kube-scheduler --kubeconfig="$KUBECONFIG" --bind-address=127.0.0.1 --leader-elect=false
}

the_node() {
	start containerd containerd --config "$work/containerd.toml"
	await "containerd answers" ctr -a "$work/containerd.sock" version
	image registry.example/heaplapse:0.1.0 "$work/heaplapse"
	image registry.example/server:1.0 "$work/server-root"
	image registry.example/pause:1 "$work/pause-root"
	start kubelet kubelet --kubeconfig="$KUBECONFIG" --config="$work/kubelet.yaml" --node-ip=$node --hostname-override=node
	await "the node is ready" kubectl wait --for=condition=Ready node/node --timeout=1s
	# The examples run without privileges: the strictest profile of Kubernetes admits them.
	kubectl create namespace heaps
	kubectl label namespace heaps pod-security.kubernetes.io/enforce=restricted
	await "the namespace has its account" kubectl get serviceaccount default
}

# restarts runs the deployment until the kernel has killed the server, and reads what it has recorded.
restarts() {
	sed 's/memory: 2Gi/memory: 64Mi/' docs/examples/kubernetes.yaml | kubectl apply -f -
	await "the server was killed for its memory" state server terminated OOMKilled 137
	await "the sidecar ended with the leak" state heaplapse terminated Error 1
	await "the second start is judged" judged /heap/2
	await "the recording of the first start is in a bundle" in_server heaplapse bundle -q /heap/1 -o /heap/1.heaplapse.tar.zst
	local pod
	pod=$(kubectl get pods -l app=server -o jsonpath='{.items[0].metadata.name}')
	await "the bundle is copied" kubectl cp -c server "$pod:/heap/1.heaplapse.tar.zst" "$work/1.heaplapse.tar.zst"
	"$work/heaplapse/bin/heaplapse" growth -q "$work/1.heaplapse.tar.zst" >"$work/growth.txt"
	grep '^LEAK: handle ' "$work/growth.txt"
	kubectl get pods -l app=server
	kubectl delete deployment server --grace-period=1
}

in_server() { kubectl exec deploy/server -c server -- "$@"; }

# judged DIR reports whether the leak in a recording is found where the server runs.
judged() { in_server heaplapse growth -q "$1" | grep '^LEAK: handle '; }

# state CONTAINER STATE REASON STATUS reports whether the container of the deployment has ended so before.
state() {
	[ "$(kubectl get pods -l app=server -o jsonpath="{.items[0].status.containerStatuses[?(@.name=='$1')]['state','lastState'].$2['reason','exitCode']}")" = "$3 $4" ]
}

# jobs runs a StatefulSet of two pods, whose server is killed too, and the CronJobs for it.
jobs() {
	local name
	for name in heaps tables; do
		mkdir -p "$work/volumes/$name"
		kubectl apply -f - <<-END
			{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "$name"}, "spec": {"capacity": {"storage": "1Gi"},
			 "accessModes": ["ReadWriteMany"], "local": {"path": "$work/volumes/$name"}, "storageClassName": "local",
			 "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions":
			  [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node"]}]}]}}}}
		END
		kubectl apply -f - <<-END
			{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "$name"}, "spec": {"storageClassName": "local",
			 "accessModes": ["ReadWriteMany"], "volumeName": "$name", "resources": {"requests": {"storage": "1Gi"}}}}
		END
	done
	kubectl apply -f - <<-'END'
		apiVersion: apps/v1
		kind: StatefulSet
		metadata: {name: shop}
		spec:
		  replicas: 2
		  serviceName: shop
		  selector: {matchLabels: {app: shop}}
		  template:
		    metadata: {labels: {app: shop}}
		    spec:
		      securityContext: {runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
		      volumes: [{name: heaps, persistentVolumeClaim: {claimName: heaps}}]
		      containers:
		        - name: server
		          image: registry.example/server:1.0
		          command: [heaplapse, record, -o, /heaps/$(POD_NAME)/%n, --, server]
		          env: [{name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
		          resources: {limits: {memory: 64Mi}}
		          securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, readOnlyRootFilesystem: true}
		          volumeMounts: [{name: heaps, mountPath: /heaps}]
	END
	sed -E 's/^  schedule: .*/  schedule: "* * * * *"/; s/completions: 20/completions: 2/; s/maxFailedIndexes: 20/maxFailedIndexes: 2/' \
		docs/examples/fleet.yaml | kubectl apply -f -
	await "the rows of two starts of both pods are exported and compacted" compacted
	kubectl get cronjobs,jobs
	grep -q 'handle' "$work"/volumes/tables/sites/night=*/all.parquet # the function has its name
}

# compacted reports whether two starts of each pod are exported, and their rows are in one file.
compacted() {
	local pod
	for pod in 0 1; do
		[ "$(kubectl logs -l "batch.kubernetes.io/job-completion-index=$pod" --tail=-1 | grep -o '/runs/night=[^ ]*-[0-9a-f]*\.parquet' | sort -u | wc -l)" -ge 2 ] ||
			return 1
	done
	kubectl get pods -o name | grep /heaplapse-compact- | while read -r pod; do kubectl logs "$pod" || true; done >"$work/compact.txt"
	grep -E '/runs/[^ ]*/all\.parquet: [0-9]+ files, ([4-9]|[0-9]{2,}) rows' "$work/compact.txt"
}

inside() {
	directories
	settings
	export KUBECONFIG=$work/kubeconfig
	control_plane
	the_node
	restarts
	jobs
	echo "Kubernetes $(kubectl get node node -o jsonpath='{.status.nodeInfo.kubeletVersion}'): all starts are recorded, exported and compacted"
}

case ${1:-} in
--build)
	build "$2"
	exit
	;;
--inside)
	work=$2
	inside
	exit
	;;
esac
mapfile -t lacking < <(missing)
if [ ${#lacking[@]} -gt 0 ]; then
	echo "kubernetes.sh: skipped, missing: ${lacking[*]}" >&2
	exit
fi
if compgen -G '/sys/fs/cgroup/*/kubepods' >/dev/null || [ -d /sys/fs/cgroup/kubepods ]; then
	echo "kubernetes.sh: this machine is a node of a Kubernetes already" >&2
	exit 1
fi
work=$(mktemp -d)
chmod 755 "$work" # users of containers read volumes below it
cleanup() {
	rm -rf --one-file-system "$work"
	find /sys/fs/cgroup -depth -type d -path '*/kubepods*' -exec rmdir {} +
}
trap cleanup EXIT
roots
unshare --mount --pid --mount-proc --fork --kill-child --net --uts --ipc "$0" --inside "$work"
