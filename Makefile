# SPDX-License-Identifier: Apache-2.0
#
# The front door. Meson does the work; every configuration is one target with a
# folder of its own, so that switching costs nothing.
#
#   make            build/: weir, libweir.so, libweir.a, examples, tests
#   make test       unit tests in build/
#   make asan       unit tests with AddressSanitizer and UBSan, in build-asan/
#   make tsan       unit tests with ThreadSanitizer, in build-tsan/
#   make fuzz       all fuzzers, SECONDS_EACH=60 seconds each, in build-asan/
#   make coverage   lines and branches reached by the tests, in build-coverage/
#   make bench      the measurements of docs/bench.md, in build-bench/
#   make bench-gates  how often the gates are wrong: the tables of docs/gates.md
#   make bench-search  how often the search errs: the tables of docs/search.md
#   make lint       layers, limits, formatting, headers, man pages
#   make tidy       clang-tidy over src/ and app/
#   make format     clang-format over all our C files
#   make install    what make has built, into PREFIX=/usr/local (DESTDIR is honoured)
#   make clean      removes all build folders
#
# Others: make weir (build/weir only); make werror-gcc (compiles with -Werror, as ./check does).
# MESON_ARGS="-Doptimization=2" adds options when a folder is made first.

PREFIX ?= /usr/local
SECONDS_EACH ?= 60
COMPARES ?= false
NULLS ?= 2000
PEOPLE ?= 200
MESON_ARGS ?=
NINJA ?= ninja
export PYTHONUTF8 := 1
C_FILES = $(shell find include src app tests examples bench -name '*.[ch]' | sort)

# $(call configure,FOLDER,OPTIONS): makes the folder unless it is there.
configure = test -f $(1)/build.ninja || meson setup $(1) $(2) $(MESON_ARGS)
test_in = meson test -C $(1) --no-rebuild --suite unit --print-errorlogs

.PHONY: all weir build-folder test asan tsan fuzz coverage bench bench-gates bench-search tidy format install \
        clean lint lint-layers lint-rules lint-format lint-man lint-docs \
        build-asan build-tsan build-coverage werror-gcc
.DEFAULT_GOAL := all

all: build-folder
	@$(NINJA) -C build

# build/prefix says what for; another PREFIX configures the folder anew.
build-folder:
	@$(call configure,build,--prefix=$(PREFIX))
	@test "$$(cat build/prefix 2>/dev/null)" = "$(PREFIX)" || { \
	  meson configure build -Dprefix=$(PREFIX) && echo "$(PREFIX)" >build/prefix; }

# What ./run needs, without the tests.
weir: build-folder
	@$(NINJA) -C build weir examples/chat_print

test: all
	@$(call test_in,build)

# clang's warnings, both sanitizers and the fuzzers in one folder: whatever else is compiled, that
# is what takes the time. lld, for there are hundreds of programs to be linked. Fuzzers that run for
# long see comparisons, too: make fuzz.
build-asan:
	@CC=clang CC_LD=lld; export CC CC_LD; $(call configure,$@,-Dfuzz=true -Dwerror=true \
	  -Dcompares=$(COMPARES) -Doptimization=1 -Db_sanitize=address$(,)undefined -Db_lundef=false -Dc_args=-g1)
	@$(NINJA) -C $@

build-tsan:
	@CC_LD=lld; export CC_LD; $(call configure,$@,-Doptimization=1 -Db_sanitize=thread \
	  -Dc_args=-g1 -Dalone=false)
	@$(NINJA) -C $@

build-coverage:
	@$(call configure,$@,-Db_coverage=true -Dbuildtype=debug)
	@$(NINJA) -C $@

werror-gcc:
	@CC=gcc; export CC; $(call configure,build-gcc,-Dwerror=true)
	@$(NINJA) -C build-gcc

asan: build-asan
	@$(call test_in,$<) --wrapper $(CURDIR)/tools/no-aslr

tsan: build-tsan
	@meson configure $< -Dalone=true
	@$(NINJA) -C $<
	@$(call test_in,$<) --wrapper $(CURDIR)/tools/no-aslr

fuzz: build-asan
	@meson configure $< -Dcompares=true
	@$(NINJA) -C $<
	@tools/fuzz --seconds $(SECONDS_EACH)

coverage: build-coverage
	@find $< -name '*.gcda' -delete
	@$(call test_in,$<) || echo "some tests failed; the numbers are theirs all the same"
	@tools/coverage $<

bench:
	@tools/deps bench
	@bench/run build-bench

# NULLS=200 takes a tenth of the time and gives a third of the precision.
bench-gates: build-folder
	@$(NINJA) -C build bench/bench-gates
	@build/bench/bench-gates $(NULLS)

# PEOPLE=50 takes a quarter of the time.
bench-search: build-folder
	@$(NINJA) -C build bench/bench-search
	@build/bench/bench-search $(PEOPLE)

lint: lint-layers lint-rules lint-format lint-man lint-docs

lint-layers:
	@tools/layers

lint-rules:
	@tools/lint

lint-format:
	@clang-format --dry-run -Werror $(C_FILES)

lint-man:
	@mandoc -Tlint -Wwarning man/*.[1-8]

lint-docs:
	@tools/table-docs --check

tidy: build-folder
	@printf '%s\n' $(filter src/%.c app/%.c,$(C_FILES)) | \
	  xargs -n 1 -P $$(nproc) clang-tidy --quiet -p build

format:
	@clang-format -i $(C_FILES)

# As root often enough, so it writes nothing that the next make needs.
install:
	@test -x build/weir || { echo "make install: run make first"; exit 1; }
	@test "$$(cat build/prefix)" = "$(PREFIX)" || { \
	  echo "make install: build/ is for $$(cat build/prefix); run make PREFIX=$(PREFIX) first"; \
	  exit 1; }
	@meson install -C build --no-rebuild
	@rm -f build/meson-logs/install-log.txt

clean:
	rm -rf build build-asan build-tsan build-coverage build-bench build-gcc

# A comma that make does not take for its own.
, := ,
