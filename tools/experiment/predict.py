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


def _by_liu06(teamster, profile, node_of):
    """Milliseconds by [Liu06]'s equations, which learn nothing."""
    question = {**profile, "node_of": node_of, "decision": None}
    answer = subprocess.run(
        [teamster, "plan", "-", "--model=liu06", "--policy=initial", "--json"],
        text=True,
        input=json.dumps(question), stdout=subprocess.PIPE, check=True,
        timeout=TIMEOUT_S)
    return json.loads(answer.stdout)["now"]["in_force"]["iteration_s"] * 1e3


def predictions(teamster, path, counts):
    """What is kept of a run: milliseconds by its own model with what it had learned,
    and by that of [Liu06]; None where the profile does not say."""
    profile = _read(path)
    node_of, ms = _find(profile, counts) if profile else (None, None)
    return {"predicted_ms": ms,
            "predicted_liu06_ms": node_of and _by_liu06(teamster, profile, node_of)}
