# SPDX-License-Identifier: BSD-3-Clause
"""What the models predict for the mapping that a run ended with, out of the profile
of its last decision."""
import json
import subprocess

TIMEOUT_S = 60


def _counts_of(node_of, n_nodes):
    return [sum(1 for node in node_of if node == x) for x in range(n_nodes)]


def _read(path):
    try:
        with open(path, encoding="utf-8") as file:
            profile = json.load(file)
    except OSError:
        return None  # nothing was decided
    return profile if profile.get("decision") else None


def _find(profile, counts):
    """Which of the two mappings the run ended with, and what the run predicted."""
    decision = profile["decision"]
    for node_of, key in ((decision["node_of"], "after_s"),
                         (profile["node_of"], "before_s")):
        if _counts_of(node_of[-sum(counts):], len(counts)) == list(counts):
            return node_of, decision[key] * 1e3
    return None, None


def measured(path, counts):
    """Milliseconds, by the run's own model with what it had learned; None if the
    profile does not say."""
    profile = _read(path)
    return _find(profile, counts)[1] if profile else None


def liu06(teamster, path, counts):
    """The same by [Liu06]'s equations, which learn nothing."""
    profile = _read(path)
    node_of = _find(profile, counts)[0] if profile else None
    if node_of is None:
        return None
    model = {**profile["model"], "kind": "liu06", "corrections": None}
    question = {**profile, "node_of": node_of, "model": model, "decision": None}
    answer = subprocess.run(
        [teamster, "plan", "-", "--policy=initial", "--json"], text=True,
        input=json.dumps(question), stdout=subprocess.PIPE, check=True,
        timeout=TIMEOUT_S)
    return json.loads(answer.stdout)["now"]["in_force"]["iteration_s"] * 1e3
