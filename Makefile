# The one list of commands, for people and for CI. `make` alone shows it.

RUST_LEAST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
PYTHON_LEAST := 3.11
, := ,
RUFF := 0.17.5
NVRTC := 12.9.86
MATURIN := 1.16.0
ZIGLANG := 0.17.1
PROMETHEUS := 0.26.0
AZURITE := 3.35.0
FAKE_GCS := v1.56.1
TYPESCRIPT := 7.0.2
BIOME := 2.6.8
CYCLONEDX := 2.9.1
MAVEN_VERSIONS := 2.21.0
PIP_AUDIT := 2.10.1
PYTHON_REQUIREMENTS := bench/compare/requirements.txt python/tests/requirements.txt remote/servers/requirements.txt server/tests/page/requirements.txt
STREAMING := 3.4.2
MRJOB := 0.7.4

ENGINE_CRATES := -p tegula-machine -p tegula-input -p tegula-device -p tegula-pairs -p tegula-core -p tegula
TARGET := $(or $(CARGO_TARGET_DIR),target)
TEGULA := $(TARGET)/release/tegula
VENV := bench/.venv
HADOOP_RELEASE := tegula-hadoop-0.1.0
HADOOP_JAR := hadoop/target/$(HADOOP_RELEASE).jar
WHEELS := $(abspath $(TARGET))/wheels
SBOM := $(abspath $(TARGET))/sbom
TEST_WHEELS := $(abspath $(TARGET))/test-wheels
WHEEL_TARGETS ?= x86_64-unknown-linux-gnu
PYTHON_VENV := bench/.venv-python
# Those on the path and of pyenv, one of each version.
PYTHONS ?= $(shell for minor in 11 12 13 14 15; do for python in "$$HOME"/.pyenv/versions/3.$$minor.*/bin/python \
	/usr/bin/python3.$$minor /usr/local/bin/python3.$$minor; do test -x $$python && echo $$python && break; done; done)
PYTHON_VENVS := $(abspath $(TARGET))/python-venvs
OUTER_PYTHONS = $(sort $(firstword $(PYTHONS)) $(lastword $(PYTHONS)))
# Each commit tests one of them, by its seed.
PYTHON_IN_TURN = $(word $(shell echo $$(($(COMMIT_SEED) % $(words $(OUTER_PYTHONS)) + 1))),$(OUTER_PYTHONS))
TESTED_PYTHONS = $(sort $(firstword $(OUTER_PYTHONS)) $(PYTHON_IN_TURN))
FIRST_PYTHON = $(subst /,@,$(firstword $(PYTHONS)))
PYTHON_ENVIRONMENTS = $(foreach python,$(PYTHONS),$(PYTHON_VENVS)/$(subst /,@,$(python))/requirements)
EMULATORS = $(abspath $(TARGET))/emulators
# The live page of `tegula serve`: what checks it, and what its tests run in.
PAGE_LINTS = $(abspath $(TARGET))/page-lints
PAGE_VENV = $(abspath $(TARGET))/page-venv

# Hadoop's streaming jar with the local runner's class path, and mrjob with its tests: what streaming jobs are compared with.
STREAMING_JAR = $(abspath $(TARGET))/hadoop-streaming-$(STREAMING).jar
STREAMING_TESTS = $(abspath $(TARGET))/hadoop-streaming-$(STREAMING)-test-sources.jar
HADOOP_CLASSPATH = $(abspath $(TARGET))/hadoop.classpath
MRJOB_SOURCES = $(abspath $(TARGET))/mrjob-$(MRJOB)
MRJOB_VENV = $(abspath $(TARGET))/mrjob-venv

# What `make run` counts: the sources of the crates that Tegula was just built from.
INPUT ?= "$${CARGO_HOME:-$$HOME/.cargo}"/registry/src
WORDS ?= alpha
TOP ?= 10
# The nodes of `make run-nodes`.
NODES ?= local:4

# The texts of the whole-process benchmarks, and how often each program runs on them.
CORPUS ?= bench/corpus
RUNS ?= 5
# Kills of a part of the campaign.
KILLS ?= 100
SEED ?= 1
SOAK_SECONDS ?= 3600
FUZZ ?= blocks commands compressed greps json kernels logs matrices messages namenodes objects pictures requests sorts \
	states stations words
FUZZ_HADOOP ?= answers calls classes histories jobs messages requests secrets spills splits streams
FUZZ_SECONDS ?= 60
FUZZ_BYTES ?= 4096
FUZZ_KEPT_BYTES ?= 512
# A cost that is small beside its run needs more runs.
TIMELINE_RUNS ?= 11
# The text that is counted while shows are made; it is read again until SHOW_BYTES are reached.
SHOW_TEXT ?= letters.txt
SHOW_BYTES ?= 8e9
INGEST_TEXT ?= source256.txt
INGEST_COLD ?= letters.txt
PIPELINE_TEXT ?= source256.txt
PAPER_INPUTS := zipf.txt steep.txt logins.txt tera.bin
OWN_TEXTS := source source256 zipf distinct
COMPARE_TEXTS := letters source256
CONTAINER_TEXTS := few many both misled
INDEX_TEXTS := source100 letters100
SCRIPTS := greek russian chinese hindi
INCREMENTAL_TEXTS := source letters stations
STATE_INPUTS := source.txt stations.txt picture.bmp
COST_TEXTS := letters letters100 distinct
PYTHON_TEXTS := zipf100 requests distinct events
REMOTE_INPUTS := source256.txt points.bin
VERSIONS_INPUTS := source.txt source256.txt source100.txt letters.txt zipf100.txt distinct.txt stations.txt picture.bmp \
	points.bin grid.npy
NUMBER_INPUTS := picture.bmp points.bin lines.txt grid.npy square.npy large.npy rows.npy tall.npy

# Without bytecode, each of the hundreds of processes that tests start compiles what it imports, pandas among it.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PRECIOUS: $(PYTHON_VENVS)/%/requirements
.PHONY: help run run-nodes run-places build serve-demo wheel wheels check-wheel test-wheel test test-rust test-crates test-stores rust-test-programs test-python test-wheel-once test-wheel-mrjob-once python-environments \
	test-cuda-kernels test-metrics test-ray test-mrjob test-streaming test-streaming-classes \
	test-hadoop test-hadoop-compat test-hadoop-more test-hadoop-homes test-places test-page dist-hadoop \
	lint lint-rust lint-python lint-page lint-hadoop screenshots-page audit audit-rust audit-python audit-hadoop sbom error-paths miri loom tsan jcstress fuzz fuzz-changes fuzz-keep fuzz-hadoop \
	campaign campaign-nodes campaign-places campaign-programs campaign-python campaign-serve campaign-soak campaign-streaming \
	bench bench-own bench-versions bench-builds bench-compare bench-reuse \
	bench-memory bench-sort bench-grep bench-unicode bench-stations bench-logstats bench-containers bench-index bench-numbers \
	bench-show bench-ingest bench-sizing bench-pipeline bench-groups bench-groups-cost bench-timeline \
	bench-incremental bench-state bench-compressed bench-files bench-small-files bench-remote bench-gpu bench-units bench-nodes-sizes \
	bench-hadoop bench-hadoop-cluster bench-hadoop-memory bench-nodes bench-serve bench-python bench-streaming bench-places bench-systemml \
	papers papers-page corpus clean test-emulators s3-server \
	need-cargo need-chromium need-emulators need-fuzz need-java need-lints need-miri need-node need-pocl need-python

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

run: need-cargo ## Count words and show the statistics; INPUT=paths WORDS=whitespace|alpha|unicode TOP=10
	cargo build --profile quick -p tegula-cli --no-default-features --features wordcount
	@$(TARGET)/quick/tegula wordcount $(INPUT) --words $(WORDS) --top $(TOP) --stats

run-nodes: need-cargo ## Count words on local nodes and show the statistics; NODES=local:4 INPUT=paths WORDS=alpha TOP=10
	cargo build --profile quick -p tegula-cli --no-default-features --features wordcount,nodes
	@$(TARGET)/quick/tegula wordcount $(INPUT) --nodes $(NODES) --words $(WORDS) --top $(TOP) --stats

build: need-cargo ## Build the release binary with all its commands
	cargo build --release -p tegula-cli --all-features

serve-demo: build ## Serve five mixed jobs and print the address of the page that shows them; INPUT=folder PORT=8642
	@server/demo.sh $(TEGULA) $(INPUT)

# Zig is the C compiler and the linker: it has the symbols of old versions of glibc, and those of other machines. What
# exceeds the policy is refused.
wheel: need-cargo $(VENV)/maturin-$(MATURIN) $(VENV)/ziglang-$(ZIGLANG) ## Build the wheel to publish into target/wheels, manylinux_2_28 for x86_64 (slow)
	rm -rf $(WHEELS)
	for target in $(WHEEL_TARGETS); do \
		{ ! command -v rustup >/dev/null || rustup target add $$target; } && \
		PATH=$(abspath $(VENV))/bin:$$PATH $(VENV)/bin/maturin build --manifest-path python/Cargo.toml \
			--profile $(or $(PYTHON_PROFILE),python) --target $$target --zig --compatibility manylinux_2_28 --out $(WHEELS) || exit 1; \
	done

wheels: ## Build the wheels of all machines: x86_64 and aarch64 (slow)
	@$(MAKE) --no-print-directory wheel WHEEL_TARGETS="x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu"

# With the features of the Rust tests, whose crates are then not built again.
TEST_WHEEL_FEATURES := opencl,cuda,tegula-cli/cuda,tegula-cli/linalg,tegula-cli/nodes,tegula-cli/opencl,tegula-cli/serve,tegula-cli/streaming,$\
	tegula-apps/cuda,tegula-apps/opencl

test-wheel: need-cargo $(VENV)/maturin-$(MATURIN) ## Build a wheel for tests on this machine into target/test-wheels, in a third of the time; its maps are slow
	rm -rf $(TEST_WHEELS)
	$(VENV)/bin/maturin build --manifest-path python/Cargo.toml --profile $(or $(PYTHON_PROFILE),dev) \
		--features $(TEST_WHEEL_FEATURES) --out $(TEST_WHEELS)

check-wheel: wheel ## Test the wheel to publish on the first CPython (slow); TESTS=arguments
	@$(MAKE) --no-print-directory TEST_WHEELS=$(WHEELS) $(if $(TESTS),,$(TESTS_ONCE)) test-wheel-on-$(FIRST_PYTHON)

# Maven and pip leave cores idle, and so does the Rust compiler at the end of the engine's tests, which take it three
# minutes: they run beside each other, after the lints of Rust if these are asked for. The Rust tests wait for them, because
# some tests measure time. Their output follows that of the Rust tests. The page, and what asks stores, which leaves a core
# idle for a minute and a half, are tested beside the Python package; of the CPythons, the first or the last in turn
# (`make test-python` takes all). Random changes of the inputs of fuzzing take what time these leave. Each part runs even if another
# failed.
test: ## Run all tests, those in the documentation too; LINT=lint-rust with these lints before
	@output=$$(mktemp) && changes=$$(mktemp) && status=0; \
	$(if $(LINT),$(MAKE) $(LINT) || status=1;) \
	$(MAKE) --keep-going python-environments test-hadoop PYTHONS="$(TESTED_PYTHONS)" >"$$output" 2>&1 & others=$$!; \
	trap 'kill $$others $$changed 2>/dev/null; rm -f "$$output" "$$changes"' EXIT; \
	$(MAKE) --keep-going rust-test-programs test-wheel || status=1; \
	wait $$others || status=1; \
	$(MAKE) fuzz-changes SEED=$(COMMIT_SEED) FUZZ_SECONDS=20 >"$$changes" 2>&1 & changed=$$!; \
	$(MAKE) test-crates || status=1; \
	cat "$$output"; \
	$(MAKE) --keep-going --jobs=2 --output-sync=target test-page test-stores TEGULA_PAGE=$(TARGET)/debug/tegula >"$$output" 2>&1 & others=$$!; \
	$(MAKE) test-python PYTHONS="$(TESTED_PYTHONS)" IN_TURN="$(PYTHON_IN_TURN)" || status=1; \
	wait $$others || status=1; \
	wait $$changed || status=1; \
	cat "$$output" "$$changes"; \
	exit $$status

# Each commit has a seed of its own; a tree without a repository has the first one.
COMMIT_SEED = $(or $(shell git rev-parse --short=8 HEAD 2>/dev/null | xargs -I{} printf '%d' 0x{}),1)

test-rust: test-crates test-stores ## Run the tests of the Rust crates

RUST_TESTS := --workspace --exclude tegula-python --all-features
# Many of them wait, for a server or a limit of time, so twice as many run as there are cores.
RUN_RUST_TESTS = POCL_CACHE_DIR=$(abspath $(TARGET))/pocl RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$(($$(nproc) * 2))} cargo test $(RUST_TESTS)

test-crates: rust-test-programs need-pocl
	$(RUN_RUST_TESTS)

test-stores: rust-test-programs need-java $(VENV)/s3-server
	$(RUN_RUST_TESTS) --test remote

# The engine's tests are one crate, which takes three minutes of one core. They are compiled first, while Maven and pip leave
# room.
rust-test-programs: need-cargo
	cargo test $(RUST_TESTS) --test engine --no-run
	cargo test $(RUST_TESTS) --no-run
	cargo test $(RUST_TESTS) --test remote --no-run

# Each CPython that the package supports has an environment, in which the wheel is installed anew. Only the files that
# pip installs are tested. Their tests keep three quarters of a core busy, so one more of them than there are cores runs
# side by side; make prints the output of each when it ends. Tests marked `once` do not depend on the CPython: they run
# beside the others on the first one.
test-python: test-wheel need-python ## Test the wheel on every CPython from 3.11 that is on the machine; PYTHONS=paths TESTS=arguments
	@test -n "$(strip $(PYTHONS))" || { echo "make: no CPython from $(PYTHON_LEAST) on was found: name some, PYTHONS=paths" >&2; exit 1; }
	@$(MAKE) --no-print-directory --keep-going --jobs=$$(($$(nproc) + 1)) --output-sync=target PYTHONS="$(PYTHONS)" \
		$(if $(TESTS),,$(TESTS_ONCE)) $(foreach python,$(or $(IN_TURN),$(PYTHONS)),test-wheel-on-$(subst /,@,$(python)))

# Installs the packages that the tests need besides the wheel. This can run beside the compiler.
python-environments: need-python
	@$(MAKE) --no-print-directory --keep-going --jobs=$$(nproc) --output-sync=target PYTHONS="$(PYTHONS)" $(PYTHON_ENVIRONMENTS)

# The interpreter's path is part of the target's name, with @ for /.
installed-on-%: $(PYTHON_VENVS)/%/requirements
	@$(<D)/bin/python -m pip uninstall -qq --yes tegula
	@$(<D)/bin/python -m pip install --quiet $(TEST_WHEELS)/*.whl

test-wheel-on-%: installed-on-%
	@echo "make: $(subst @,/,$*)"
	@cd python/tests && $(PYTHON_VENVS)/$*/bin/python -m pytest -o cache_dir=$(PYTHON_VENVS)/$*/pytest \
		$(or $(TESTS),. -m "not once")

# Tests of mrjob's jobs take as long as all others, so they run beside these.
TESTS_ONCE := test-wheel-once test-wheel-mrjob-once
MRJOB_TESTS = $(notdir $(wildcard python/tests/test_*mrjob*.py))
test-wheel-once: ONCE = $(filter-out $(MRJOB_TESTS),$(notdir $(wildcard python/tests/test_*.py)))
test-wheel-mrjob-once: ONCE = $(MRJOB_TESTS)
$(TESTS_ONCE): test-wheel%once: installed-on-$(FIRST_PYTHON)
	@echo "make: $@, $(firstword $(PYTHONS))"
	@cd python/tests && $(PYTHON_VENVS)/$(FIRST_PYTHON)/bin/python -m pytest \
		-o cache_dir=$(PYTHON_VENVS)/$(FIRST_PYTHON)/pytest$*once $(ONCE) -m once

# Without bytecode, because only a part of the packages is ever loaded.
$(PYTHON_VENVS)/%/requirements: python/tests/requirements.txt remote/servers/requirements.txt
	@rm -rf $(@D)
	@$(subst @,/,$*) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --no-compile -r $<
	@touch $@

test-emulators: need-cargo $(EMULATORS)/azurite-$(AZURITE) $(EMULATORS)/fake-gcs-$(FAKE_GCS) ## Test az:// and gs:// against their emulators (Node and Go)
	AZURITE=$(EMULATORS)/node_modules/.bin/azurite-blob FAKE_GCS=$(EMULATORS)/fake-gcs-server \
		cargo test -p tegula-remote --test emulators

# With the parsers that Prometheus has for Python.
test-metrics: build $(VENV)/prometheus-$(PROMETHEUS) ## Check the metrics of a server, and its dashboard
	$(VENV)/bin/python server/check_metrics.py $(TEGULA)

# Ray is half a gigabyte, so it has an environment of its own.
test-ray: test-wheel $(VENV)/bin/python ## Test jobs on a Ray cluster of local nodes, which is fetched (80 MB)
	$(firstword $(PYTHONS)) -m venv $(abspath $(TARGET))/ray-venv
	$(abspath $(TARGET))/ray-venv/bin/python -m pip install --quiet 'ray>=2.50' pytest $(TEST_WHEELS)/*.whl
	cd python/tests && $(abspath $(TARGET))/ray-venv/bin/python -m pytest test_jobs_run_on_ray.py

test-streaming: need-cargo need-java $(STREAMING_JAR) $(HADOOP_CLASSPATH) ## Compare streaming jobs with the stock jar on Hadoop's local runner (three minutes); TESTS=words of names
	cargo build -p tegula-cli --all-features
	python3 streaming/compare/hadoop.py $(TARGET)/debug/tegula $(HADOOP_CLASSPATH) $(STREAMING_JAR) $(TESTS)

test-streaming-classes: need-java $(HADOOP_JAR) $(STREAMING_TESTS) ## Run the test classes of Hadoop Streaming on Hadoop's local runner and on the Hadoop engine (slow); TESTS=words of names
	cd hadoop/compat/streaming && mvn -B -ntp -q dependency:build-classpath -Dmdep.outputFile=$(abspath $(TARGET))/streaming.classpath
	python3 streaming/compare/hadoop_classes.py $(TARGET)/streaming.classpath $(STREAMING_TESTS) $(HADOOP_JAR) $(TESTS)

test-mrjob: test-wheel $(MRJOB_SOURCES) ## Run mrjob's examples, the jobs of its tests and four of its test modules by tegula hadoop and by tegula.mrjob (seven minutes); TESTS=words of names
	cargo build -p tegula-cli --all-features
	$(firstword $(PYTHONS)) -m venv $(MRJOB_VENV)
	$(MRJOB_VENV)/bin/python -m pip install --quiet mrjob==$(MRJOB) setuptools $(TEST_WHEELS)/*.whl
	python3 streaming/compare/mrjob_jobs.py $(TARGET)/debug/tegula $(MRJOB_VENV)/bin/python $(MRJOB_SOURCES) $(TESTS)
	python3 streaming/compare/mrjob_tests.py $(TARGET)/debug/tegula $(MRJOB_VENV)/bin/python $(MRJOB_SOURCES)

$(STREAMING_JAR): need-java
	test -f $@ || mvn -B -ntp -q dependency:copy -Dartifact=org.apache.hadoop:hadoop-streaming:$(STREAMING) -DoutputDirectory=$(@D)

$(STREAMING_TESTS): need-java
	test -f $@ || mvn -B -ntp -q dependency:copy -Dartifact=org.apache.hadoop:hadoop-streaming:$(STREAMING):jar:test-sources -DoutputDirectory=$(@D)

$(HADOOP_CLASSPATH): hadoop/pom.xml | need-java
	cd hadoop && mvn -B -ntp -q dependency:build-classpath -DincludeScope=provided -Dmdep.outputFile=$@

# The source distribution has the tests.
$(MRJOB_SOURCES): | need-python
	python3 -m pip download --quiet --no-deps --no-binary :all: --dest $(@D) mrjob==$(MRJOB)
	tar -C $(@D) -xzf $@.tar.gz
	touch $@

# The compiler of CUDA needs no GPU.
test-cuda-kernels: need-cargo $(VENV)/nvrtc-$(NVRTC) ## Compile every kernel with NVRTC, which is fetched (90 MB)
	export NEEDS_NVRTC=1 LD_LIBRARY_PATH=$$(echo $(abspath $(VENV))/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib) && \
		cargo test -p tegula-device --features cuda --test device -- --nocapture && \
		cargo test -p tegula-apps --features cuda,offload --test devices -- --nocapture

test-hadoop: need-java ## Build the Hadoop engine and run its tests, with style, Javadoc and coverage
	cd hadoop && mvn -B -ntp verify -Dwire.seed=$(COMMIT_SEED)

test-places: need-java ## Run the Hadoop engine's tests over three places in one JVM, and those of places on Spark and YARN
	cd hadoop && mvn -B -ntp -Pplaces test
	cd hadoop && mvn -B -ntp -q package -DskipTests
	cd hadoop/spark && mvn -B -ntp -Pyarn test

test-hadoop-compat: need-java $(HADOOP_JAR) ## Run Pig, Crunch and Mahout on the engine and on Hadoop's local runner (a minute)
	cd hadoop/compat && mvn -B -ntp test

test-hadoop-more: need-java $(HADOOP_JAR) ## Run Hive and Giraph on the engine and on Hadoop's local runner (three minutes)
	cd hadoop/compat && mvn -B -ntp -Pmore -pl giraph,hive test

test-hadoop-homes: dist-hadoop need-python ## Compare the release with the commands of installed Hadoops (a minute for each with each JVM); HADOOP_HOMES=folders JAVA_HOMES=folders
	python3 hadoop/compat/homes.py hadoop/target/$(HADOOP_RELEASE).tar.gz $(if $(JAVA_HOMES),--java $(JAVA_HOMES)) \
		--home $(or $(HADOOP_HOMES),$(HADOOP_HOME),$(error Set HADOOP_HOMES to the folders of unpacked Hadoops))

test-page: $(PAGE_VENV)/requirements need-chromium ## Test the live page in Chromium; TEGULA_PAGE=program for real jobs too, TESTS=arguments
	export TEGULA=$(if $(TEGULA_PAGE),$(abspath $(TEGULA_PAGE))) && cd server/tests/page && $(PAGE_VENV)/bin/python -m pytest -q -o cache_dir=$(PAGE_VENV)/pytest $(or $(TESTS),.)

screenshots-page: $(PAGE_VENV)/requirements need-chromium ## Take pictures of the live page, light and dark, at three widths, into target/page; ADDRESS=of a job of a real server
	$(PAGE_VENV)/bin/python server/tests/page/shots.py $(TARGET)/page $(if $(ADDRESS),"$(ADDRESS)")

$(PAGE_VENV)/requirements: server/tests/page/requirements.txt | need-python
	rm -rf $(@D)
	python3 -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet -r $<
	touch $@

# `make test-hadoop` leaves it there, too.
$(HADOOP_JAR): hadoop/pom.xml $(shell find hadoop/src/main -type f)
	cd hadoop && mvn -B -ntp package -DskipTests
	touch $@

dist-hadoop: need-java ## Build the Hadoop engine and pack it with its script for an installed Hadoop
	cd hadoop && mvn -B -ntp -q package -DskipTests
	rm -rf hadoop/target/$(HADOOP_RELEASE)
	mkdir -p hadoop/target/$(HADOOP_RELEASE)/lib
	cp -r hadoop/bin hadoop/conf hadoop/systemd LICENSE hadoop/target/$(HADOOP_RELEASE)
	cp docs/hadoop.md hadoop/target/$(HADOOP_RELEASE)/README.md
	cp $(HADOOP_JAR) hadoop/target/$(HADOOP_RELEASE)/lib
	tar -C hadoop/target --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 \
		-czf hadoop/target/$(HADOOP_RELEASE).tar.gz $(HADOOP_RELEASE)
	@echo hadoop/target/$(HADOOP_RELEASE).tar.gz

lint: lint-rust lint-python lint-page lint-hadoop ## Check format and style of all code

# All features are on, as in tests, so that external crates are checked once. Then what is left out without features: it
# is in the libraries that have some, and in the program. The documentation of an example is for its dependencies: with
# those of tests, external crates have the features that they were checked with.
# Crates whose library is not compiled for tests, because it has none.
UNTESTED_LIBRARIES = $(patsubst %/Cargo.toml,%/src,$(shell awk '/^\[/ {library = $$0 == "[lib]"} \
	library && /^test = false/ {print FILENAME}' */Cargo.toml remote/servers/Cargo.toml))

lint-rust: need-lints
	! grep -rn '#\[test\]\|proptest!' $(UNTESTED_LIBRARIES)
	cargo fmt --all --check
	cargo clippy --workspace --exclude tegula-python --all-targets --all-features --locked -- -D warnings
	cargo clippy -p tegula -p tegula-apps -p tegula-cli --locked -- -D warnings
	cargo clippy -p tegula-python --features $(TEST_WHEEL_FEATURES) --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --exclude tegula-python --lib --example word_count \
		--all-features --no-deps --locked

lint-python: $(VENV)/ruff-$(RUFF)
	$(VENV)/bin/ruff check --config bench/ruff.toml bench hadoop reliability remote/servers server python streaming
	$(VENV)/bin/ruff format --config bench/ruff.toml --check bench hadoop reliability remote/servers server python streaming
	python3 reliability/campaign.py page --check
	python3 bench/compare/chart.py --check
	python3 bench/compare/python_tables.py --check
	$(PAPERS) --check

lint-page: $(PAGE_LINTS)/typescript-$(TYPESCRIPT)-biome-$(BIOME)
	$(PAGE_LINTS)/node_modules/.bin/tsc --project server/jsconfig.json
	cd server && $(PAGE_LINTS)/node_modules/.bin/biome check --error-on-warnings .

lint-hadoop: need-java
	cd hadoop && mvn -q spotless:check compile
	cd hadoop/compat && mvn -q -Pmore spotless:check
	cd hadoop/bench/cluster && mvn -q spotless:check
	cd hadoop/spark && mvn -q spotless:check
	cd hadoop/stress && mvn -q spotless:check

campaign: campaign-programs ## Break runs on purpose at full size, and write docs/promises.md; goes on where it was stopped; SEED=1 PARTS="kills faults" (hours)
	python3 reliability/campaign.py run $(PARTS) --seed $(SEED)

campaign-programs: need-cargo
	cargo build --release -p tegula-reliability

campaign-python: ## Kill programs in Python a hundred times; SEED=1 KILLS=100 (slow)
	$(MAKE) test-python PYTHONS=$(firstword $(PYTHONS)) TESTS="test_kills_leave_nothing.py -s" KILLS=$(KILLS) SEED=$(SEED)

campaign-serve: build need-python ## Kill a server, its jobs, or both, a hundred times with eight jobs at work; SEED=1 KILLS=100 (slow)
	PYTHONPATH=bench/compare python3 reliability/server_kills.py --tegula $(TEGULA) --kills $(KILLS) --seed $(SEED)

campaign-soak: build need-python ## Let a server work for an hour, and see that it does not grow; SOAK_SECONDS=3600 SEED=1 (slow)
	PYTHONPATH=bench/compare python3 reliability/server_soak.py --tegula $(TEGULA) --seconds $(SOAK_SECONDS) --seed $(SEED) \
		--samples reliability/soak-server.csv

campaign-streaming: build need-python ## Run streaming jobs at their extremes (lines of a gigabyte, 10,000 reducers) and kill a hundred; SEED=1 KILLS=100 (slow)
	python3 streaming/compare/extremes.py $(TEGULA) --kills $(KILLS) --seed $(SEED)

# One execution of Surefire each, because a test that is named would run in all of them.
campaign-places: need-java ## Faults of the Hadoop engine's places, and a hundred kills while jobs run; SEED=1 KILLS=100 (slow)
	cd hadoop && mvn -B -ntp test-compile surefire:test@default-test -Dtest='PlaceFaultsTest,JvmPlacesTest#jobsOutliveKilledPlaces' \
		-Dplaces.faults=true -Dplaces.kills=$(KILLS) -Dplaces.seed=$(SEED)
	cd hadoop && mvn -B -ntp test-compile surefire:test@hdfs-test -Dtest=HdfsPlacesTest -Dplaces.faults=true

campaign-nodes: need-cargo ## Kill nodes and drivers a hundred times and let the runs go on; SEED=1 KILLS=100 (slow)
	KILLS=$(KILLS) SEED=$(SEED) cargo test -p tegula-cli --test program nodes_survive_kills -- --nocapture

# What is new in its corpus is found again from the one that is kept; `make fuzz-keep` keeps the least of it that covers all.
fuzz: need-fuzz ## Give the parts of Tegula that read foreign bytes such bytes by coverage; FUZZ="words json" FUZZ_SECONDS=60 SEED=1 (slow)
	mkdir -p $(foreach target,$(FUZZ),$(TARGET)/fuzz-corpus/$(target) fuzz/artifacts/$(target))
	$(foreach target,$(FUZZ),TARGET=$(target) cargo +nightly fuzz run --fuzz-dir fuzz/libfuzzer --target-dir $(TARGET)/fuzz any \
		$(TARGET)/fuzz-corpus/$(target) fuzz/corpus/$(target) -- -max_total_time=$(FUZZ_SECONDS) -seed=$(SEED) -max_len=$(FUZZ_BYTES) \
		-timeout=20 -rss_limit_mb=4096 -artifact_prefix=fuzz/artifacts/$(target)/ -print_final_stats=0 -verbosity=1 &&) true

# No fuzzer is needed. `make test` runs this beside other tests, in the time of processors that these leave. A target has so
# many seconds of a clock, and the inputs depend on the seed alone.
fuzz-changes: need-cargo ## Give the parts of Tegula that read foreign bytes random changes of the kept inputs; FUZZ_SECONDS=60 SEED=1
	SEED=$(SEED) FUZZ_SECONDS=$(FUZZ_SECONDS) cargo test $(RUST_TESTS) --config "target.'cfg(unix)'.runner='nice -n 19'" \
		--test targets_bear_their_corpus -- --ignored --nocapture

fuzz-keep: need-fuzz ## Keep the inputs that cover what was found since; FUZZ="words json" (slow)
	$(foreach target,$(FUZZ),TARGET=$(target) cargo +nightly fuzz run --fuzz-dir fuzz/libfuzzer --target-dir $(TARGET)/fuzz any \
		fuzz/corpus/$(target) $(TARGET)/fuzz-corpus/$(target) -- -merge=1 -max_len=$(FUZZ_KEPT_BYTES) &&) true

# The same for what the Hadoop engine reads of other processes, with Jazzer. Heaps of half a gigabyte, because each target fails
# where much more is made than was read.
HADOOP_FUZZ := $(abspath hadoop/target/fuzz)
fuzz-hadoop: need-java ## Give the parts of the Hadoop engine that read foreign bytes such bytes by coverage; FUZZ_HADOOP="calls streams" FUZZ_SECONDS=60 SEED=1 (slow)
	mkdir -p $(FUZZ_HADOOP:%=$(HADOOP_FUZZ)/%)
	cd hadoop && mvn -B -ntp -q -Pfuzz test-compile dependency:build-classpath -Dmdep.outputFile=$(HADOOP_FUZZ)/classpath
	cd hadoop && $(foreach target,$(FUZZ_HADOOP),java -Xmx512m -XX:+UseSerialGC -Dtarget=$(target) \
		-cp target/classes:target/test-classes:$$(cat $(HADOOP_FUZZ)/classpath) com.code_intelligence.jazzer.Jazzer \
		--target_class=org.tegula.hadoop.wire.Fuzzer --instrumentation_includes='org.tegula.**' --custom_hook_excludes='**' --reproducer_path=$(HADOOP_FUZZ) \
		$(HADOOP_FUZZ)/$(target) src/test/resources/wire/$(target) -max_total_time=$(FUZZ_SECONDS) -seed=$(SEED) \
		-max_len=$(FUZZ_BYTES) -timeout=60 -rss_limit_mb=4096 -artifact_prefix=$(HADOOP_FUZZ)/$(target)- -print_final_stats=0 &&) true

# Licences and sources need no network. The lists of faults do: that of RustSec, and that of the Python package index.
audit: audit-rust audit-python audit-hadoop ## Check licences, sources and known faults of all dependencies, and list newer ones of the Hadoop engine

audit-rust: need-cargo ## Check licences, sources, duplicates and advisories of the crates; AUDIT="bans licenses sources" without the network
	@cargo deny --version >/dev/null 2>&1 || { echo "make: cargo-deny is missing: cargo install cargo-deny --locked" >&2; exit 1; }
	cargo deny --locked check $(or $(AUDIT),advisories bans licenses sources)

# The packages of the comparison with Python peers are pinned. What they depend on is not checked: it is too large to fetch.
audit-python: $(VENV)/pip-audit-$(PIP_AUDIT) ## Check the Python packages of tests and comparisons for known faults
	$(VENV)/bin/pip-audit --strict --progress-spinner off $(PYTHON_REQUIREMENTS:%=--requirement %)
	$(VENV)/bin/pip-audit --strict --progress-spinner off --disable-pip --no-deps --requirement bench/compare/python/requirements.txt

audit-hadoop: need-java ## List newer versions of what the Hadoop engine uses
	cd hadoop && mvn -B -ntp org.codehaus.mojo:versions-maven-plugin:$(MAVEN_VERSIONS):display-dependency-updates

sbom: need-cargo need-java ## Write what the program and the Hadoop engine consist of, as CycloneDX, into target/sbom
	@cargo sbom --version >/dev/null 2>&1 || { echo "make: cargo-sbom is missing: cargo install cargo-sbom --locked" >&2; exit 1; }
	mkdir -p $(SBOM)
	cargo sbom --cargo-package tegula-cli --output-format cyclone_dx_json_1_6 >$(SBOM)/tegula.json
	cd hadoop && mvn -B -ntp -q org.cyclonedx:cyclonedx-maven-plugin:$(CYCLONEDX):makeBom \
		-DoutputDirectory=$(SBOM) -DoutputName=tegula-hadoop -DoutputFormat=json

error-paths: need-cargo need-java $(VENV)/s3-server ## List the lines that make an error and that no test reaches, into docs/error-paths.md; needs rustup component add llvm-tools (slow)
	python3 reliability/error_paths.py --target $(TARGET)/coverage $(filter-out -p,$(ENGINE_CRATES)) \
		tegula-apps tegula-linalg tegula-nodes tegula-remote tegula-server tegula-streaming tegula-cli tegula-fuzz \
		tegula-reliability

# Property tests want the current folder, and under Miri a few cases must do.
miri: need-miri ## Run the tests of containers, memory and partials under Miri (slow)
	MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=4 cargo +nightly miri test $(ENGINE_CRATES) \
		--lib --test machine --test input --test pairs --test core --target-dir $(TARGET)/miri -- \
		aggregate:: container:: memory:: merge:: partial:: key:: slots:: split:: plan:: reduce:: \
		memory_arena:: memory_block:: memory_budget:: memory_buffer:: memory_chunk:: memory_input:: memory_reserved:: \
		container_range:: partial_compress:: partial_form:: partial_tiers:: plan_layout:: slots_key:: slots_table::

# The standard library is compiled with the sanitizer, too, or its own locks would look like races. So would memory that
# one engine unmaps and another one maps, if these calls did not go through libc, where the sanitizer sees them. The tests
# that are left out want a small address space, which the sanitizer refuses, or a signal, which it handles itself.
tsan: need-miri ## Run the tests of the engine's crates under ThreadSanitizer (slow); TESTS="--test engine"
	RUSTFLAGS="-Zsanitizer=thread --cfg=rustix_use_libc" PROPTEST_CASES=4 cargo +nightly test --no-fail-fast -Zbuild-std --target $(shell rustc -vV | sed -n 's/host: //p') \
		--target-dir $(TARGET)/tsan -p tegula-machine -p tegula-input -p tegula-pairs -p tegula-core -p tegula \
		--features tegula/emulated $(or $(TESTS),--lib --test machine --test input --test pairs --test core --test engine --test devices) \
		-- --skip a_system_without_threads_to_give --skip memory_that_the_system_does_not_have --skip other_bus_errors_are_not_swallowed

loom: need-cargo ## Try all interleavings of the scheduler
	RUSTFLAGS="--cfg loom" cargo test -p tegula-machine --lib --release --target-dir $(TARGET)/loom schedule

# A test wants a core for each of its threads; none has more than two.
jcstress: need-java $(HADOOP_JAR) ## Stress what tasks of the Hadoop engine share, its cache among it, with all forbidden outcomes named; STRESS="PairCache" STRESS_OPTIONS="-m quick" (slow)
	cd hadoop/stress && mvn -B -ntp -q compile dependency:build-classpath -Dmdep.outputFile=target/classpath
	cd hadoop/stress/target && java -cp $(abspath hadoop/stress/target/classes):$$(cat classpath) org.openjdk.jcstress.Main \
		$(or $(STRESS_OPTIONS),-m quick) -af NONE -sc false -r results/ $(if $(STRESS),-t '$(STRESS)')

bench: need-cargo ## Time each stage on its own (two minutes); FILTER=name for some of them
	cargo bench -p tegula-bench --bench stages -- $(FILTER)

bench-reuse: need-cargo ## Compare ways to find what did not change in 1 GB (five minutes); RUNS=5
	cargo bench -p tegula-bench --bench reuse -- 1000 20 $(RUNS)

bench-builds: need-cargo need-python ## Time builds from nothing, and of a user's job after an edit; RUNS=5 BUILDS=1
	python3 bench/compare/builds.py --scratch $(TARGET)/builds --runs $(RUNS) --builds $(or $(BUILDS),1)

# make build of the other version makes BASE.
bench-versions: build need-python $(VERSIONS_INPUTS:%=$(CORPUS)/%) ## Time the jobs of the benchmarks beside another version of tegula; BASE=program RUNS=5
	python3 bench/compare/versions.py --corpus $(CORPUS) --tegula $(TEGULA) --base $(BASE) --runs $(RUNS)

bench-own: build need-python $(OWN_TEXTS:%=$(CORPUS)/%.txt) ## Time whole word counts; RUNS=5
	python3 bench/compare/own.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS)

bench-compare: build $(VENV)/compare $(COMPARE_TEXTS:%=$(CORPUS)/%.txt) ## Time them beside other programs; PHOENIX=program PHOENIX_2=program METIS=program
	$(VENV)/bin/python bench/compare/word_count.py --corpus $(CORPUS) --tegula $(TEGULA) \
		--runs $(RUNS) $(if $(PHOENIX),--phoenix $(PHOENIX)) $(if $(PHOENIX_2),--phoenix-2 $(PHOENIX_2)) \
		$(if $(METIS),--metis $(METIS))

bench-memory: build need-python $(CORPUS)/distinct400.txt ## Time a word count in a tenth of its memory
	python3 bench/compare/memory.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS)

bench-state: build need-python $(STATE_INPUTS:%=$(CORPUS)/%) ## Time jobs that are saved beside the same without a state
	python3 bench/compare/state.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS)

bench-incremental: build need-python $(INCREMENTAL_TEXTS:%=$(CORPUS)/%.txt) ## Time runs over input that has changed a little; TENFOLD=1 for ten times the input
	cargo build --release -p tegula-bench --bin hash
	python3 bench/compare/incremental.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS) \
		--hash $(TARGET)/release/hash $(if $(TENFOLD),--tenfold)

bench-timeline: build need-python $(CORPUS)/source.txt $(CORPUS)/stations.txt ## Time jobs with a timeline and without
	python3 bench/compare/timeline.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(TIMELINE_RUNS)

bench-show: need-cargo need-python $(CORPUS)/$(SHOW_TEXT) ## Time a word count with shows and without, and find when top words are final; BOOKS=paths SHOW_BYTES=8e9
	cargo build --release -p tegula-bench
	python3 bench/compare/show.py --corpus $(CORPUS) --binary $(TARGET)/release/show --runs $(RUNS) \
		--text $(SHOW_TEXT) --bytes $(SHOW_BYTES)
	$(if $(BOOKS),cargo build --release -p tegula-cli && \
		python3 bench/compare/stable.py --tegula $(TEGULA) $(BOOKS))

bench-sort: build need-python ## Time sorting a gigabyte beside GNU sort
	python3 bench/compare/sort.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS)

bench-unicode: build need-python $(SCRIPTS:%=$(CORPUS)/%.txt) ## Time words of Unicode text in five scripts beside the reference; BOOKS=folder of English books
	cargo build --release -p tegula-bench --bin unicode
	$(if $(BOOKS),python3 bench/corpus.py books --from "$(BOOKS)" --out $(CORPUS)/books.txt)
	python3 bench/compare/unicode.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS) --reference $(TARGET)/release/unicode

bench-grep: build need-python $(CORPUS)/source256.txt ## Time lines with a match beside ripgrep and GNU grep
	python3 bench/compare/grep.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS)

bench-stations: build $(VENV)/compare $(CORPUS)/stations.txt ## Time temperatures by station beside other programs; ENTRIES=classes of the One Billion Row Challenge JAVA_21=java
	$(VENV)/bin/python bench/compare/stations.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS) \
		$(if $(ENTRIES),--entries $(ENTRIES) --java $(JAVA_21))

bench-logstats: build $(VENV)/compare $(CORPUS)/logins.txt ## Time a log of a million users beside other programs
	$(VENV)/bin/python bench/compare/logstats.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS)

bench-containers: need-cargo need-python $(CONTAINER_TEXTS:%=$(CORPUS)/%.txt) ## Time every container on the workloads of Metis (slow); RUNS=5 CONTAINER_JOBS="index map"
	cargo build --release -p tegula-bench
	python3 bench/compare/containers.py --corpus $(CORPUS) --binary $(TARGET)/release/containers \
		--runs $(RUNS) $(if $(CONTAINER_JOBS),--jobs $(CONTAINER_JOBS)) $(if $(CONTAINER_OUT),--out $(CONTAINER_OUT))

bench-index: build need-python $(INDEX_TEXTS:%=$(CORPUS)/%.txt) ## Time the inverted index beside Metis; METIS_WR=program
	python3 bench/compare/index.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS) \
		$(if $(METIS_WR),--metis $(METIS_WR))

bench-python: wheel need-python $(PYTHON_VENV)/compare $(PYTHON_TEXTS:%=$(CORPUS)/%.txt) ## Time the Python package beside other libraries, in an environment of 1.5 GB; RUNS=5; RUNS=1 SMALL=1 tries all of it
	$(PYTHON_VENV)/bin/python -m pip install --quiet --force-reinstall --no-deps $(WHEELS)/*.whl
	$(PYTHON_VENV)/bin/python bench/compare/python_reach.py --corpus $(CORPUS) --runs $(RUNS) $(if $(SMALL),--small)
	$(PYTHON_VENV)/bin/python bench/compare/python.py --corpus $(CORPUS) --runs $(RUNS) $(if $(SMALL),--small)
	$(if $(SMALL),,python3 bench/compare/python_tables.py)

bench-compressed: build need-python $(CORPUS)/source100.txt ## Time word counts of compressed text beside its decompression alone
	python3 bench/compare/compressed.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS)

bench-files: build need-python ## Time a word count of a million small files, which are made and removed
	python3 bench/compare/files.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS)

bench-small-files: build need-python $(CORPUS)/source.txt ## Time a word count of 1 GB in files of 15 KB, which are made and removed, beside one file
	python3 bench/compare/small_files.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS)

bench-numbers: build need-python $(NUMBER_INPUTS:%=$(CORPUS)/%) ## Time the jobs about numbers beside others; PHOENIX_TESTS=folder METIS_OBJ=folder
	cargo build --release -p tegula-linalg --example direct
	python3 bench/compare/number_jobs.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS) \
		--direct $(TARGET)/release/examples/direct \
		$(if $(PHOENIX_TESTS),--phoenix $(PHOENIX_TESTS)) $(if $(METIS_OBJ),--metis $(METIS_OBJ))

bench-ingest: need-cargo need-python $(CORPUS)/$(INGEST_TEXT) $(CORPUS)/$(INGEST_COLD) ## Time reading that overlaps mapping; RUNS=5
	cargo build --release -p tegula-bench
	python3 bench/compare/ingest.py --corpus $(CORPUS) --binary $(TARGET)/release/ingest --runs $(RUNS) \
		--text $(INGEST_TEXT) --cold-text $(INGEST_COLD)

bench-remote: build need-java $(VENV)/s3-server $(REMOTE_INPUTS:%=$(CORPUS)/%) ## Time jobs over s3:// and hdfs:// on loopback beside the same files on disk
	cargo build --release -p tegula-remote-servers
	python3 bench/compare/remote.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS) \
		--servers $(TARGET)/release/loopback

# Where there is no device to ask for, nothing is built. A machine without a network or a compiler is given the
# program, one file that a build on another machine leaves in target/release/gpu.
bench-gpu: $(if $(GPU_PROGRAM),,need-cargo) ## Time kernels on a GPU beside the cores (8 minutes at most; skips without one); DEVICE=name MEGABYTES=n GPU_PROGRAM=built
	@if [ -z "$(DEVICE)" ] && ! ls /dev/nvidia0 /dev/kfd /dev/dri/renderD* /dev/dxg >/dev/null 2>&1; then \
		echo "make: skipped: this machine has no GPU; DEVICE=name takes another device that tegula devices lists"; \
	else \
		$(if $(GPU_PROGRAM),,TEGULA_COMMIT=$$(git rev-parse HEAD) cargo build --release -p tegula-bench --features opencl$(,)cuda --bin gpu &&) \
		$(or $(GPU_PROGRAM),$(TARGET)/release/gpu) "$(or $(DEVICE),gpu)" bench/results $(MEGABYTES); \
	fi

bench-units: need-cargo need-pocl need-python ## Time units of devices by their size beside the size that is found; DEVICES="emulated pthread" RUNS=5
	cargo build --release -p tegula-bench --features opencl --bin gpu
	python3 bench/compare/device_units.py --binary $(TARGET)/release/gpu --devices $(or $(DEVICES),emulated pthread) --runs $(RUNS)

bench-nodes-sizes: build need-python ## Time four jobs over small nodes by the size of their input (as root); RUNS=5
	python3 bench/compare/nodes_sizes.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS)

bench-pipeline: build need-python $(foreach input,$(PIPELINE_TEXT) zipf100.txt logins.txt tera.bin,$(CORPUS)/$(input)) ## Time tiles that overlap beside tiles that do not; RUNS=5
	python3 bench/compare/pipeline.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS) --text $(PIPELINE_TEXT)

bench-sizing: build need-python $(CORPUS)/source.txt $(CORPUS)/stations.txt $(CORPUS)/tera.bin ## Time the sizes that are found beside fixed ones; RUNS=5
	python3 bench/compare/sizing.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS)

HADOOP_BENCHES := word_count small_jobs sequences iterative
bench-hadoop: need-java need-python $(CORPUS)/zipf.txt ## Time Hadoop's jobs beside its local runner; RUNS=5 HADOOP_BENCHES="word_count sequences"
	cd hadoop && mvn -q package -DskipTests
	set -e; for bench in $(HADOOP_BENCHES); do \
		python3 hadoop/bench/$$bench.py --runs $(RUNS) $$(test $$bench != word_count || echo --text $(CORPUS)/zipf.txt); done

bench-hadoop-cluster: need-java need-python ## Time sequences of jobs beside Hadoop's own cluster (slow); RUNS=5
	cd hadoop && mvn -q package -DskipTests
	python3 hadoop/bench/iterative.py --cluster --runs $(RUNS)

run-places: need-java need-python ## Run a page rank of the Hadoop engine over four JVMs and show which pairs moved; PLACES=jvm:4
	cd hadoop && mvn -B -ntp -q package -DskipTests
	python3 hadoop/bench/places.py --show $(or $(PLACES),jvm:4)

bench-places: need-java need-python $(CORPUS)/zipf.txt ## Time Hadoop's jobs over 1, 2 and 4 places beside one JVM and Spark; RUNS=5
	cd hadoop && mvn -B -ntp -q package -DskipTests
	cd hadoop/spark && mvn -B -ntp -q process-test-classes
	python3 hadoop/bench/places.py --tiny 40
	python3 hadoop/bench/places.py --text $(CORPUS)/zipf.txt --runs $(RUNS)

bench-systemml: need-java need-python ## Time SystemML's programs over 1, 2 and 4 places beside one JVM and the local runner; RUNS=5
	cd hadoop && mvn -B -ntp -q package -DskipTests
	python3 hadoop/bench/systemml.py --runs $(RUNS)

bench-hadoop-memory: need-java need-python ## Sort 4 GB with a heap of 1 GB (12 GB of disk); SCRATCH=folder
	cd hadoop && mvn -q package -DskipTests
	python3 hadoop/bench/memory.py $(if $(SCRATCH),--scratch $(SCRATCH))

# The costs of splits are recorded once, with RECORD=1; what is simulated with them is the same anywhere.
COSTS := bench/results/split_costs.txt
bench-groups: need-cargo $(if $(RECORD),$(COST_TEXTS:%=$(CORPUS)/%.txt)) ## Simulate groups on 1 to 256 cores; RECORD=1
	cargo build --release -p tegula-bench
	$(if $(RECORD),{ echo "# Microseconds of processor time per split$(,) one worker; $$(uname -srm)$(,) commit $$(git rev-parse --short HEAD)"; \
		$(TARGET)/release/schedule record even $(CORPUS)/letters.txt; \
		$(TARGET)/release/schedule record uneven $(CORPUS)/letters100.txt $(CORPUS)/distinct.txt; \
		} > $(COSTS))
	$(TARGET)/release/schedule report $(COSTS) docs/groups.md docs/groups.svg

bench-groups-cost: build need-python $(CORPUS)/letters.txt $(CORPUS)/stations.txt ## Time groups on a machine that has one
	cargo build --release -p tegula-bench
	python3 bench/compare/groups.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS) \
		--schedule $(TARGET)/release/schedule $(if $(BEFORE),--before $(BEFORE))

bench-serve: build need-python $(PAGE_VENV)/requirements need-chromium $(CORPUS)/letters.txt $(CORPUS)/stations.txt $(CORPUS)/logins.txt ## Time a hundred mixed jobs through the server, what the server costs, and its page; and kill it (20 minutes)
	cargo run --release -p tegula-server --example parts -- $(COSTS) docs/serve.md docs/serve.svg
	python3 bench/compare/serve.py --corpus $(CORPUS) --tegula $(TEGULA)
	$(PAGE_VENV)/bin/python bench/compare/serve_page.py --corpus $(CORPUS) --tegula $(TEGULA)
	@$(MAKE) --no-print-directory campaign-serve

bench-nodes: need-cargo build need-python $(foreach input,letters.txt distinct.txt picture.bmp,$(CORPUS)/$(input)) ## Simulate 2 to 512 unequal nodes with the ledger, into docs/nodes.md, and time real ones under quotas of processors (as root); RUNS=5 RAY=interpreter with Ray and pandas DASK=one with dask and distributed
	cargo run --release -p tegula-nodes --example leases -- docs/nodes.md
	python3 bench/compare/nodes.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS)
	python3 bench/compare/nodes_beside.py --corpus $(CORPUS) --tegula $(TEGULA) --runs $(RUNS) $(if $(RAY),--ray $(RAY)) $(if $(DASK),--dask $(DASK))

bench-streaming: need-cargo build need-java $(STREAMING_JAR) $(HADOOP_CLASSPATH) wheel ## Compare streaming and mrjob jobs with the shell, Hadoop's local runner and mrjob (slow); RUNS=5
	$(firstword $(PYTHONS)) -m venv $(MRJOB_VENV)
	$(MRJOB_VENV)/bin/python -m pip install --quiet mrjob==$(MRJOB) setuptools $(WHEELS)/*x86_64.whl
	python3 bench/compare/streaming.py --tegula $(TEGULA) --classpath $(HADOOP_CLASSPATH) --jar $(STREAMING_JAR) \
		--python $(MRJOB_VENV)/bin/python --runs $(RUNS)

PAPERS = PYTHONPATH=bench/compare python3 bench/papers/papers.py --corpus $(CORPUS) --tegula $(TEGULA)
papers: build need-python $(PAPER_INPUTS:%=$(CORPUS)/%) ## Make the figures of the five papers again, into docs/papers.md (two hours at most); FIGURES="ostrich-15 metis-16" or all PHOENIX=program
	$(PAPERS) $(if $(PHOENIX),--phoenix $(PHOENIX)) $(if $(FIGURES),--only $(FIGURES))

papers-page: need-python ## Make docs/papers.md from the raw results that are kept
	$(PAPERS) --kept

corpus: $(sort $(OWN_TEXTS:%=$(CORPUS)/%.txt) $(COMPARE_TEXTS:%=$(CORPUS)/%.txt) $(INDEX_TEXTS:%=$(CORPUS)/%.txt)) ## Make their texts; LINUX_SOURCE=folder of an unpacked linux-source

clean: need-cargo ## Remove all that was built (the texts in bench/corpus stay)
	cargo clean
	rm -rf hadoop/target
	rm -rf $(VENV) $(PYTHON_VENV)

# The texts. Those that are there are not made again.

DRAWN_TEXTS := zipf steep distinct requests events $(SCRIPTS) $(CONTAINER_TEXTS)
$(DRAWN_TEXTS:%=$(CORPUS)/%.txt): | need-python
	mkdir -p $(@D)
	python3 bench/corpus.py $(basename $(@F)) --out $@

$(CORPUS)/distinct400.txt: | need-python
	mkdir -p $(@D)
	python3 bench/corpus.py distinct --bytes 400000000 --out $@

$(CORPUS)/zipf100.txt: | need-python
	mkdir -p $(@D)
	python3 bench/corpus.py zipf --bytes 100000000 --out $@

$(CORPUS)/tera.bin: | build
	mkdir -p $(@D)
	$(TEGULA) teragen 10000000 -o $@

$(CORPUS)/stations.txt: | build
	mkdir -p $(@D)
	$(TEGULA) generate stations 50000000 -o $@

$(CORPUS)/logins.txt: | build
	mkdir -p $(@D)
	$(TEGULA) generate logins 30000000 --users 1000000 -o $@

$(CORPUS)/%.txt: | need-python
	@test -n "$(LINUX_SOURCE)" || { echo "make: $@ is missing: say where the Linux source is" \
		"unpacked, make corpus LINUX_SOURCE=folder (apt-get install linux-source, then" \
		"tar -xf /usr/src/linux-source-*.tar.xz)" >&2; exit 1; }
	mkdir -p $(@D)
	python3 bench/corpus.py $* --from "$(LINUX_SOURCE)" --out $@

$(NUMBER_INPUTS:%=$(CORPUS)/%): | need-python
	mkdir -p $(@D)
	python3 bench/number_inputs.py $(@F) --out $@

# The emulators of stores, for tests.

$(EMULATORS)/azurite-$(AZURITE): | need-emulators
	npm install --silent --no-audit --no-fund --prefix $(@D) azurite@$(AZURITE)
	touch $@

$(EMULATORS)/fake-gcs-$(FAKE_GCS): | need-emulators
	GOBIN=$(@D) go install github.com/fsouza/fake-gcs-server@$(FAKE_GCS)
	touch $@

# What checks the page.

$(PAGE_LINTS)/typescript-$(TYPESCRIPT)-biome-$(BIOME): | need-node
	npm install --silent --no-audit --no-fund --prefix $(@D) typescript@$(TYPESCRIPT) @biomejs/biome@$(BIOME)
	touch $@

# What Python code needs, apart from the standard library.

$(VENV)/ruff-$(RUFF): | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet ruff==$(RUFF)
	touch $@

$(VENV)/pip-audit-$(PIP_AUDIT): | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet pip-audit==$(PIP_AUDIT)
	touch $@

$(VENV)/prometheus-$(PROMETHEUS): | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet prometheus-client==$(PROMETHEUS)
	touch $@

$(VENV)/nvrtc-$(NVRTC): | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet nvidia-cuda-nvrtc-cu12==$(NVRTC)
	touch $@

$(VENV)/ziglang-$(ZIGLANG): | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --no-compile ziglang==$(ZIGLANG)
	touch $@

$(VENV)/maturin-$(MATURIN): | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet maturin==$(MATURIN)
	touch $@

$(PYTHON_VENV)/compare: bench/compare/python/requirements.txt | need-python
	python3 -m venv $(PYTHON_VENV)
	$(PYTHON_VENV)/bin/python -m pip install --quiet --no-compile -r $<
	touch $@

s3-server: $(VENV)/s3-server ## Install the S3 server of the tests (moto, in Python)

# Of what moto needs for S3 only a part is ever loaded, and so compiled.
$(VENV)/s3-server: remote/servers/requirements.txt | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --no-compile -r $<
	touch $@

$(VENV)/compare: bench/compare/requirements.txt | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet -r $<
	touch $@

$(VENV)/bin/python: | need-python
	python3 -m venv $(VENV)

# What a machine must have, each with the way to get it.

need-cargo:
	@command -v cargo >/dev/null || { echo "make: cargo is missing: install Rust" \
		"$(RUST_LEAST) or later from https://rustup.rs" >&2; exit 1; }
	@have=$$(rustc --version | cut -d ' ' -f 2); \
	printf '%s\n' $(RUST_LEAST) "$$have" | sort --check=quiet --version-sort || { \
		echo "make: Rust $$have is too old, $(RUST_LEAST) is the least:" \
		"rustup update stable" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "make: cc is missing, with which Rust links:" \
		"apt-get install gcc" >&2; exit 1; }

# The browser of the page's tests.
need-chromium:
	@[ -x "$${CHROMIUM:-/usr/bin/chromium-headless-shell}" ] || [ -x /usr/bin/chromium ] || { \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
			&& apt-get -qq -o Acquire::Retries=0 update && apt-get install -y --no-install-recommends chromium-headless-shell; \
		} || { echo "make: chromium is missing, in which the live page is tested:" \
		"apt-get install chromium-headless-shell (or chromium), or CHROMIUM=path" >&2; exit 1; }

# For the Hadoop engine, and the tests of hdfs://.
need-java:
	@command -v java >/dev/null || { echo "make: java is missing, for the Hadoop engine and the tests of hdfs://:" \
		"apt-get install default-jdk-headless" >&2; exit 1; }
	@command -v mvn >/dev/null || { echo "make: mvn is missing, which builds the Hadoop engine and fetches HDFS for tests:" \
		"apt-get install maven" >&2; exit 1; }

# An OpenCL device that is the processor itself, for the tests of devices. They skip without one.
need-pocl:
	@ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1 || { \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
			&& apt-get -qq -o Acquire::Retries=0 update && apt-get install -y --no-install-recommends pocl-opencl-icd ocl-icd-libopencl1; \
		} || echo "make: no OpenCL driver is installed, so its tests skip:" \
		"apt-get install pocl-opencl-icd ocl-icd-libopencl1" >&2

need-emulators:
	@command -v npm >/dev/null && command -v node >/dev/null || { echo "make: node or npm is missing," \
		"which Azure's emulator runs on: apt-get install nodejs npm" >&2; exit 1; }
	@command -v go >/dev/null || { echo "make: go is missing, which builds the emulator of Google" \
		"Cloud Storage: https://go.dev/dl" >&2; exit 1; }

need-node:
	@command -v npm >/dev/null && command -v node >/dev/null || { echo "make: node or npm is missing," \
		"which the checks of the live page run on: apt-get install nodejs npm" >&2; exit 1; }

need-lints: need-cargo
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 || { \
		echo "make: rustfmt or clippy is missing:" \
		"rustup component add rustfmt clippy" >&2; exit 1; }

need-fuzz: need-cargo
	@cargo +nightly --version >/dev/null 2>&1 || { echo "make: the nightly compiler is missing:" \
		"rustup toolchain install nightly" >&2; exit 1; }
	@cargo fuzz --version >/dev/null 2>&1 || { echo "make: cargo-fuzz is missing:" \
		"cargo install cargo-fuzz --locked" >&2; exit 1; }

need-miri: need-cargo
	@cargo +nightly miri --version >/dev/null 2>&1 || { echo "make: Miri is missing:" \
		"rustup toolchain install nightly --component miri,rust-src" >&2; exit 1; }

need-python:
	@python3 -c 'import sys; sys.exit(sys.version_info < ($(subst .,$(,) ,$(PYTHON_LEAST))))' \
		2>/dev/null || { echo "make: python3 is missing or older than $(PYTHON_LEAST):" \
		"apt-get install python3, or https://www.python.org/downloads" >&2; exit 1; }
	@python3 -c 'import ensurepip, venv' 2>/dev/null || { echo "make: python3 has no venv:" \
		"apt-get install python3-venv" >&2; exit 1; }
