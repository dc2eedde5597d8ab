"""Writes config.json for runc: a command in a root directory that consists of /usr and WORKDIR, under the
filter of container engines if a file with it is given. Usage: oci.py WORKDIR FILTER|'' COMMAND…"""
import json
import os
import subprocess
import sys

work, source, command = sys.argv[1], sys.argv[2], sys.argv[3:]
for d in ["usr", "etc", "proc", "sys", "dev", "tmp", work.lstrip("/")]:
    os.makedirs("rootfs/" + d, exist_ok=True)
for d in ["bin", "sbin", "lib", "lib64"]:
    if not os.path.lexists("rootfs/" + d):
        os.symlink("usr/" + d, "rootfs/" + d)
if os.path.exists("config.json"):
    os.remove("config.json")
subprocess.run(["runc", "spec"], check=True)
with open("config.json") as f:
    config = json.load(f)
config["process"].update(terminal=False, args=command, cwd="/")
config["process"]["env"] += [v + "=" + os.environ[v] for v in os.environ if v.startswith(("LD_PRELOAD", "HEAPLAPSE_"))]
config["root"]["readonly"] = True
bind = ["rbind", "rprivate"]
config["mounts"] += [
    {"destination": "/usr", "type": "bind", "source": "/usr", "options": bind + ["ro"]},
    {"destination": work, "type": "bind", "source": work, "options": bind},
]
# Control groups are not needed, and not there in a container.
linux = config["linux"]
linux["namespaces"] = [n for n in linux["namespaces"] if n["type"] != "cgroup"]
linux.pop("resources", None)
if source:
    with open(source) as f:
        docker = json.load(f)
    rules = []
    for rule in docker["syscalls"]:
        only, never = rule.get("includes") or {}, rule.get("excludes") or {}
        if only.get("caps") or (only.get("arches") and "amd64" not in only["arches"]) or "amd64" in (never.get("arches") or []):
            continue
        rules.append({k: rule[k] for k in ("names", "action", "errnoRet", "args") if rule.get(k)})
    linux["seccomp"] = {
        "defaultAction": docker["defaultAction"], "defaultErrnoRet": docker.get("defaultErrnoRet", 1),
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"], "syscalls": rules,
    }
with open("config.json", "w") as f:
    json.dump(config, f)
