# Newcomers' commands. Meson does the building; this file installs what is missing and calls it.
#
#   make          builds build/karma, build/libkarma.so and build/libkarma.a
#   make demo     trains on a table with missing values, predicts unseen rows, compares
#   make test     all tests
#   make test-sanitize  all tests, built with the address and undefined-behaviour sanitizers
#   make test-all  both
#   make test-r   R CMD check of the R package, its other tests, and the documents, one of which needs R
#   make fuzz SECONDS=60  runs every fuzz target for so many seconds of processor time
#   make test-deep  valgrind, the thread sanitizer, 200 kills, gcc -fanalyzer and cppcheck (docs/testing.md)
#   make coverage  which lines and branches the tests run
#   make bench    speed compared with peers (docs/benchmarks.md)
#   make bench-large  time, memory and accuracy on large tables (docs/scale.md)
#   make experiments  accuracy compared with other methods (docs/experiments.md); DATA=DIR and MOVIELENS=DIR name data
#   make docs     the documentation as a web site, in build/site
#   make lint     clang-tidy, clang-format, shellcheck
#   make install  honours PREFIX and DESTDIR

PREFIX ?= /usr/local

BUILD_PACKAGES = gcc libc6-dev meson ninja-build pkg-config libopenblas-openmp-dev zlib1g-dev libjansson-dev \
                 libsqlite3-dev libpq-dev
# Of karma-mpi, which is built where MPI is installed.
MPI_PACKAGES   = libopenmpi-dev openmpi-bin
# Of the Python package: what it is built with, and what its tests use.
PYTHON_PACKAGES = python3-dev python3-pandas python3-matplotlib python3-tqdm python3-mesonpy python3-build python3-pip \
                 python3-venv patchelf
TEST_PACKAGES  = $(BUILD_PACKAGES) $(MPI_PACKAGES) libcmocka-dev g++ python3 python3-sklearn sqlite3 postgresql mkdocs $(PYTHON_PACKAGES)
FUZZ_PACKAGES  = $(BUILD_PACKAGES) libcmocka-dev clang libclang-rt-14-dev libomp-14-dev
DEEP_PACKAGES  = $(BUILD_PACKAGES) libcmocka-dev valgrind cppcheck python3
LINT_PACKAGES  = $(TEST_PACKAGES) clang-format clang-tidy shellcheck
BENCH_PACKAGES = $(BUILD_PACKAGES) $(MPI_PACKAGES) python3 python3-numpy python3-scipy python3-sklearn libsvm-tools \
                 r-base-core r-bioc-pcamethods

all: build/build.ninja
	@ninja -C build --quiet

build/build.ninja:
	@dev/install-packages $(BUILD_PACKAGES)
	@meson setup build --prefix "$(PREFIX)" >/dev/null

demo: all
	@examples/demo.sh build/karma

test:
	@dev/install-packages $(TEST_PACKAGES)
	@dev/install-browser
	@dev/run-tests

test-sanitize:
	@dev/install-packages $(TEST_PACKAGES)
	@dev/run-tests --sanitize

test-all:
	@dev/install-packages $(TEST_PACKAGES)
	@dev/run-tests --all

test-r:
	@dev/install-packages $(TEST_PACKAGES) r-base-dev r-cran-mass
	@dev/run-tests r docs

test-deep: all
	@dev/install-packages $(DEEP_PACKAGES)
	@dev/valgrind
	@dev/thread-sanitize
	@dev/kills
	@dev/analyze

coverage:
	@dev/install-packages $(TEST_PACKAGES) gcovr
	@dev/coverage

bench: all
	@dev/install-packages $(BENCH_PACKAGES)
	@ninja -C build --quiet bench/bench_engine bench/bench_forest bench/bench_search bench/bench_subspace
	@bench/run

bench-large: all
	@dev/install-packages $(MPI_PACKAGES) python3 python3-pandas python3-sklearn
	@bench/large --tuned
	@bench/stream all
	@bench/processes speed
	@bench/processes model
	@bench/processes memory --columns 20

experiments: all
	@dev/install-packages python3
	@experiments/run $(if $(DATA),--data "$(DATA)") $(if $(MOVIELENS),--movielens "$(MOVIELENS)")
	@experiments/report

SECONDS ?= 60
fuzz:
	@dev/install-packages $(FUZZ_PACKAGES)
	@dev/fuzz $(SECONDS)

docs: all
	@dev/install-packages python3 mkdocs
	@dev/make-docs build/karma build/site

lint:
	@dev/install-packages $(LINT_PACKAGES)
	@dev/lint

install: all
	@meson configure build --prefix "$(PREFIX)" >/dev/null
	@ninja -C build --quiet
	@meson install -C build --no-rebuild --quiet

clean:
	rm -rf build build-sanitize build-coverage build-fuzz build-valgrind build-thread

.PHONY: all demo test test-sanitize test-all test-r test-deep coverage fuzz bench bench-large experiments docs lint install clean
