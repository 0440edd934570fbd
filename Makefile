# SPDX-License-Identifier: BSD-3-Clause
#
# A front to CMake for those who type `make`. What is built and how is in
# CMakeLists.txt and CMakePresets.json.
.DEFAULT_GOAL := help
.NOTPARALLEL:

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_RUNS ?= 5000000
export DESTDIR PREFIX
sources := include src frontend planner simulate cli apps bench bindings tests

help: ## print this
	@echo "make TARGET, where TARGET is one of"
	@sed -n 's/^\([a-z -]*\):.*## /  \1\t/p' Makefile | expand -t 18
	@echo "install takes PREFIX=$(PREFIX) and DESTDIR=$(DESTDIR)"
	@echo "fuzz takes FUZZ_RUNS=$(FUZZ_RUNS), mutants MUTANTS='--only NAME'"

check: setup-check ## install what is missing, build, run the tests
	cmake --workflow --preset debug

check-all: setup-check ## the same, also the long ones of tests/long.list
	cmake --workflow --preset all

demo: setup-build programs ## build, then see it at work, in a minute
	build/release/cli/teamster demo

demo-long: setup-build programs ## build, then compare policies in many rounds
	tools/demo.py

bench: setup-bench programs ## build, then measure
	cmake --build --preset release --target bench

bench-hosts: setup-bench setup-lab programs ## measure runs over several hosts
	cmake --preset release
	cmake --build --preset release
	bench/hosts.py

bench-cliff: setup-bench programs ## measure what lack of memory costs
	cmake --build --preset release --target bench-cliff

bench-layers: setup-bench programs ## measure a network that no node's memory has room for
	cmake --build --preset release --target bench-layers

experiments: setup-experiments programs ## build, then run those of the papers, or go on
	tools/experiments.py $(EXPERIMENTS)

papers: programs ## the papers at their own size, in the laboratory, or go on
	tools/papers_simulated.py $(PAPERS)

debug asan tsan: setup-check ## configure, build and test with this preset
	cmake --workflow --preset $@

valgrind: setup-check ## the same, only the tests that can be run under it
	cmake --workflow --preset valgrind

fuzz: setup-fuzz ## give all decoders FUZZ_RUNS inputs, made up by libFuzzer
	cmake --preset fuzz
	cmake --build --preset fuzz
	tests/fuzz/run.py --build build/fuzz --runs $(FUZZ_RUNS)

mutants: setup-check ## put faults into a copy of the tree: do tests find them?
	tests/mutants/run.py $(MUTANTS)
	tests/spin/mutants.sh

release: setup-build ## configure, build and test with optimisation
	cmake --workflow --preset release

programs: setup-build ## build the libraries and programs, no tests
	cmake --preset release
	cmake --build --preset release --target programs

format: setup-check ## lay out all C files
	find $(sources) -name '*.[ch]' -exec clang-format -i {} +

lint: setup-check ## all lints: those among the tests, cppcheck, clang-tidy
	cmake --preset debug
	cmake --build --preset debug
	ctest --preset debug --label-regex lint
	tests/mutants/run.py --syntax-of build/debug
	tools/check_static.sh build/debug

docs: setup-docs ## make the documentation site in build/docs/html
	cmake --preset release
	cmake --build --preset release --target manual
	tools/site.py build/release/manual build/docs

install: programs ## install into $DESTDIR$PREFIX
	cmake --install build/release --prefix "$(PREFIX)"

deb: setup-deb ## build Debian packages in build/deb, and have lintian look at them
	tools/deb.sh build/deb

try-deb: deb ## install these in a fresh Debian, and run a program on two nodes there
	tools/try_deb.sh build/deb

setup-build setup-check setup-bench setup-experiments setup-fuzz setup-docs setup-deb setup-lab \
    setup-browser: setup-%:
	@tools/setup.sh $*

setup-lab: ## install sshd, MPI and Slurm, for the tests on several hosts

setup-browser: ## install Chromium and npm, for tests of the live page and its charts

clean: ## remove build/
	rm -rf build

.PHONY: help check check-all demo demo-long bench bench-hosts bench-cliff bench-layers experiments papers debug asan tsan valgrind \
        fuzz mutants release programs format lint docs install deb try-deb setup-build \
        setup-check setup-bench setup-experiments setup-fuzz setup-docs setup-deb setup-lab \
        setup-browser clean
