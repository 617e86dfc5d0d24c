# Newcomers' commands. Meson does the building; this file installs what is missing and calls it.
#
#   make          builds build/karma, build/libkarma.so and build/libkarma.a
#   make demo     trains on a table with holes, predicts unseen rows, compares
#   make test     all tests, then all of them again under the address and undefined-behaviour sanitizers
#   make bench    speed beside peers (docs/benchmarks.md)
#   make experiments  accuracy beside other ways with holes (docs/experiments.md); DATA=DIR and MOVIELENS=DIR name data
#   make lint     clang-tidy, clang-format, shellcheck
#   make install  honours PREFIX and DESTDIR

PREFIX ?= /usr/local

BUILD_PACKAGES = gcc libc6-dev meson ninja-build pkg-config libopenblas-openmp-dev zlib1g-dev libjansson-dev
TEST_PACKAGES  = $(BUILD_PACKAGES) libcmocka-dev python3 python3-sklearn
LINT_PACKAGES  = $(TEST_PACKAGES) clang-format clang-tidy shellcheck
BENCH_PACKAGES = $(BUILD_PACKAGES) python3 python3-numpy python3-scipy python3-sklearn libsvm-tools \
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
	@dev/run-tests

bench: all
	@dev/install-packages $(BENCH_PACKAGES)
	@ninja -C build --quiet bench/bench_engine bench/bench_search bench/bench_subspace
	@bench/run

experiments: all
	@dev/install-packages python3
	@experiments/run $(if $(DATA),--data "$(DATA)") $(if $(MOVIELENS),--movielens "$(MOVIELENS)")
	@experiments/report

lint:
	@dev/install-packages $(LINT_PACKAGES)
	@dev/lint

install: all
	@meson configure build --prefix "$(PREFIX)" >/dev/null
	@ninja -C build --quiet
	@meson install -C build --no-rebuild --quiet

clean:
	rm -rf build build-sanitize

.PHONY: all demo test bench experiments lint install clean
