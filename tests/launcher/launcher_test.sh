#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# launcher_test.sh SOURCE_DIR CASE: runs one case against a copy of the launcher whose tools are stand-ins.
# shellcheck disable=SC2329,SC2317,SC2016  # cases are called by name; the stand-ins expand their variables themselves
set -euo pipefail
source_dir=$1
case_name=$2

scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
tree=$scratch/tree
calls=$scratch/calls
state=$scratch/installed
bin=$scratch/bin
mkdir -p "$tree"/{base,protocol,storage,coordinator,worker,cli,cmake} "$bin"
cp "$source_dir/tunefarm" "$source_dir/CMakePresets.json" "$tree/"
cp "$source_dir/cmake/packages.txt" "$tree/cmake/"
touch "$tree/CMakeLists.txt" "$tree/base/source.cpp" "$calls"
grep -v '^#' "$tree/cmake/packages.txt" | awk '{print $2}' >"$state"
export calls state scratch tree

tool() {
    { printf '#!/usr/bin/env bash\n%s\n' "printf '%s' \"${1}\" >>\"\$calls\"; printf ' %s' \"\$@\" >>\"\$calls\"; echo >>\"\$calls\""; cat; } >"$bin/$1"
    chmod +x "$bin/$1"
}
tool dpkg-query <<'TOOL'
shift 2
status=0
for package; do
    if grep -qxF -- "$package" "$state"; then echo "installed $package"; else status=1; fi
done
exit $status
TOOL
tool apt-get <<'TOOL'
words=()
while (($#)); do
    case $1 in
    -o) shift ;;
    -*) ;;
    *) words+=("$1") ;;
    esac
    shift
done
if [[ ${words[0]} == update ]]; then
    rm -f "$scratch/lists-are-old"
    [[ ! -e $scratch/no-network ]]
elif [[ -e $scratch/lists-are-old || -e $scratch/no-network ]]; then
    echo "E: Unable to locate package ${words[1]}"
    exit 100
else
    printf '%s\n' "${words[@]:1}" >>"$state"
fi
TOOL
tool cmake <<'TOOL'
dir=build/$2
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd -P)" >"$dir/CMakeCache.txt"
touch "$dir/build.ninja"
TOOL
tool ninja <<'TOOL'
[[ $1 == -C ]] && cd "$2"
mkdir "$scratch/building" || touch "$scratch/overlap"
[[ ! -p $scratch/hold ]] || { echo started >"$scratch/started"; read -r _ <"$scratch/hold"; }
[[ ! -e $scratch/edit-during-build ]] || touch "$tree/base/source.cpp"
rmdir "$scratch/building"
if [[ -e $scratch/broken ]]; then
    printf 'FAILED: base/source.o\nbase/source.cpp:1:2: error: broken\n'
    exit 1
fi
mkdir -p bin
printf '#!/bin/sh\necho "in $(pwd -P)"\nfor argument; do echo "<$argument>"; done\nexit 7\n' >bin/tunefarm
chmod +x bin/tunefarm
TOOL
tool ctest <<<'exit 0'
tool id <<<'cat "$scratch/uid" 2>/dev/null || echo 0'
tool sudo <<<'exec "$@"'
export PATH=$bin:$PATH

# run DIRECTORY COMMAND…: sets `out`, `err` and `code`; no terminal and no input.
run() {
    code=0
    (cd -- "$1" && shift && "$@") >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
    out=$(cat "$scratch/out")
    err=$(cat "$scratch/err")
}
fail() {
    printf '%s\n' "$case_name: $*" "code: ${code-}" "out: ${out-}" "err: ${err-}" "calls:" >&2
    cat "$calls" >&2
    exit 1
}
has() { [[ $1 == *"$2"* ]] || fail "expected to find: $2"; }
hasnt() { [[ $1 != *"$2"* ]] || fail "expected not to find: $2"; }
exits() { [[ $code == "$1" ]] || fail "expected exit code $1"; }
called() { grep -c -- "^$1" "$calls" || true; }
forget() { grep -vxF -- "$1" "$state" >"$state.new" && mv "$state.new" "$state"; }

test_NoInstallStopsWithTheList() {
    forget libzstd-dev
    forget clang-22
    run / "$tree/tunefarm" --no-install plan
    exits 2
    [[ $out == $'libzstd-dev\nclang-22' ]] || fail "the list on standard output"
    has "$err" "apt-get install"
    [[ $(called apt-get) == 0 ]] || fail "apt-get was called"
    [[ $(called ninja) == 0 ]] || fail "a build was started"
}
test_HelpOfAFreshTreeNeitherInstallsNorBuilds() {
    forget libzstd-dev
    run / "$tree/tunefarm" --help
    exits 0
    has "$out" "./tunefarm build"
    has "$out" "./tunefarm test"
    [[ $(called apt-get) == 0 && $(called cmake) == 0 && $(called ninja) == 0 ]] || fail "something was started"
    [[ ! -e $tree/build ]] || fail "a build folder was made"
}
test_NoInstallRunsWhenNothingIsMissing() {
    run / "$tree/tunefarm" --no-install plan
    exits 7
    has "$out" "<plan>"
    hasnt "$out" "no-install"
}
test_InstallsOnlyWhatIsMissing() {
    forget libzstd-dev
    run / "$tree/tunefarm" plan
    exits 7
    has "$err" "installing 1 Debian packages"
    has "$err" "libzstd-dev"
    has "$(grep ^apt-get "$calls")" "install -y --no-install-recommends libzstd-dev"
    [[ $(called apt-get) == 1 ]] || fail "the package lists were fetched without need"
}
test_FetchesThePackageListsWhenTheyAreOld() {
    forget libzstd-dev
    touch "$scratch/lists-are-old"
    run / "$tree/tunefarm" plan
    exits 7
    [[ $(called apt-get) == 3 ]] || fail "expected install, update, install"
}
test_AptFailureSaysWhatItMeans() {
    forget libzstd-dev
    touch "$scratch/no-network"
    run / "$tree/tunefarm" plan
    exits 3
    has "$err" "Unable to locate package libzstd-dev"
    has "$err" "is its mirror reachable?"
    [[ $(called ninja) == 0 ]] || fail "a build was started"
}
test_InstallsThroughSudoWhenNotRoot() {
    forget libzstd-dev
    echo 1000 >"$scratch/uid"
    run / "$tree/tunefarm" plan
    exits 7
    [[ $(called sudo) == 1 ]] || fail "sudo was not used"
}
test_RunningNeedsNoTestPackages() {
    forget libgtest-dev
    forget ansible-lint
    run / "$tree/tunefarm" plan
    exits 7
    [[ $(called apt-get) == 0 ]] || fail "apt-get was called"
    has "$(grep ^cmake "$calls")" "-DTUNEFARM_TESTS=OFF"
    run / "$tree/tunefarm" test
    exits 0
    has "$(grep ^apt-get "$calls")" "libgtest-dev"
    hasnt "$(grep ^apt-get "$calls")" "ansible-lint"
}
test_PassesArgumentsUnchanged() {
    run / "$tree/tunefarm" run "two words" "" '*' --json '$HOME'
    [[ $out == $'in /\n<run>\n<two words>\n<>\n<*>\n<--json>\n<$HOME>' ]] || fail "the arguments"
    exits 7
}
test_KeepsTheCallersDirectory() {
    mkdir -p "$scratch/else where"
    ln -s ../tree/tunefarm "$scratch/else where/link"
    run "$scratch/else where" ./link plan file.yaml
    has "$out" "in $(cd "$scratch/else where" && pwd -P)"
    has "$out" "<file.yaml>"
    PATH=$tree:$PATH run "$scratch/else where" tunefarm plan
    exits 7
}
test_SecondCallOnlyRunsTheBinary() {
    touch "$tree/base/notes.md"
    run / "$tree/tunefarm" plan
    : >"$calls"
    touch "$tree/base/notes.md"
    run / "$tree/tunefarm" plan
    exits 7
    [[ ! -s $calls ]] || fail "a tool was called"
    [[ -z $err ]] || fail "the fast path must say nothing"
}
test_ChangedSourceIsBuiltFirst() {
    run / "$tree/tunefarm" plan
    touch "$tree/base/source.cpp"
    run / "$tree/tunefarm" plan
    [[ $(called ninja) == 2 ]] || fail "expected a second build"
    rm "$tree/base/source.cpp"
    run / "$tree/tunefarm" plan
    [[ $(called ninja) == 3 ]] || fail "expected a build after a removed file"
    [[ $(called cmake) == 1 ]] || fail "configured again without need"
}
test_EditDuringTheBuildCounts() {
    touch "$scratch/edit-during-build"
    run / "$tree/tunefarm" plan
    rm "$scratch/edit-during-build"
    run / "$tree/tunefarm" plan
    [[ $(called ninja) == 2 ]] || fail "expected a second build"
}
test_BuildFailureShowsTheError() {
    touch "$scratch/broken"
    run / "$tree/tunefarm" plan
    exits 3
    has "$err" "base/source.cpp:1:2: error: broken"
    rm "$scratch/broken"
    run / "$tree/tunefarm" plan
    exits 7
}
test_BuildOfOneTargetVouchesForNothing() {
    run / "$tree/tunefarm" build release some_test
    exits 0
    run / "$tree/tunefarm" plan
    [[ $(called ninja) == 2 ]] || fail "expected a second build"
}
test_UnknownPresetIsAUsageError() {
    run / "$tree/tunefarm" build fast
    exits 2
    has "$err" "no preset 'fast'"
}
test_TestHandsItsArgumentsToCTest() {
    run / "$tree/tunefarm" test -L threads
    exits 0
    has "$(grep ^ctest "$calls")" "--output-on-failure"
    has "$(grep ^ctest "$calls")" "-L threads"
}
test_MovedTreeIsConfiguredAfresh() {
    run / "$tree/tunefarm" plan
    mv "$tree" "$scratch/moved"
    touch "$scratch/moved/base/source.cpp"
    run / "$scratch/moved/tunefarm" plan
    exits 7
    [[ $(called cmake) == 2 ]] || fail "expected a second configuration"
}
test_TwoLaunchersBuildOneAtATime() {
    mkfifo "$scratch/hold" "$scratch/started" "$scratch/second"
    "$tree/tunefarm" plan >/dev/null 2>&1 </dev/null &
    read -r _ <"$scratch/started"
    "$tree/tunefarm" plan >/dev/null 2>"$scratch/second" </dev/null &
    exec 7<"$scratch/second"
    read -r line <&7
    has "$line" "waiting for it"
    mv "$scratch/hold" "$scratch/let-go" # only the first build is held
    echo go >"$scratch/let-go"
    cat <&7 >/dev/null
    wait
    [[ ! -e $scratch/overlap ]] || fail "two builds ran at once"
    run / "$tree/tunefarm" plan
    exits 7
}

"test_$case_name"
