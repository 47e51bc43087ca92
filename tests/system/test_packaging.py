# SPDX-License-Identifier: MIT
"""What `meson install` installs, programs built against that, and the packages' lists of it.

tools/packaging/make-deb builds the packages themselves, which takes minutes.
"""

import ast
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import helpers
import test_completions
import test_manuals

pytestmark = pytest.mark.beside

PACKAGING = helpers.REPO / "tools" / "packaging"
DEBIAN = PACKAGING / "debian"
# Debian has these under other names, or always has them where packages are built.
NOT_NAMED = {"gcc", "libc6-dev", "ninja-build", "openmpi-bin"}


def meson_options():
    """The options of the build, {name: value}."""
    path = helpers.BUILD / "meson-info" / "intro-buildoptions.json"
    return {option["name"]: option["value"] for option in json.loads(path.read_text("utf-8"))}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """(folder that stands for /, prefix in it, libdir in that) of an installation."""
    if not shutil.which("meson"):
        pytest.skip("meson is not installed")
    root = tmp_path_factory.mktemp("root")
    done = helpers.run(["meson", "install", "-C", str(helpers.BUILD), "--no-rebuild", "--destdir", str(root)])
    assert done.returncode == 0, done.stdout + done.stderr
    options = meson_options()
    prefix = root / options["prefix"].lstrip("/")
    return root, prefix, options["libdir"]


def module_path():
    """Of the installed Python module, below the prefix; None if this build has none."""
    installed_as = json.loads((helpers.BUILD / "meson-info" / "intro-installed.json").read_text("utf-8"))
    path = installed_as.get(str(helpers.REPO / "tools/python/juggle.py"))
    return path and os.path.relpath(path, meson_options()["prefix"])


def expected_files(libdir):
    files = {"bin/" + name for name in test_completions.PROGRAMS}
    files |= {"include/progress.h", "include/progress.f90", "include/juggle/waits.h",
              libdir + "/pkgconfig/libprogress.pc", libdir + "/juggle/libphases.so", "share/juggle/grafana.json"}
    files |= {libdir + "/libprogress.so" + end for end in ("", ".1", ".1.0.0")}
    files |= {"share/man/man%s/%s" % (page[-1], page) for page in test_manuals.ALL_PAGES}
    for name in test_completions.PROGRAMS:
        files |= {"share/bash-completion/completions/%s.bash" % name,
                  "share/zsh/site-functions/_%s" % name, "share/fish/vendor_completions.d/%s.fish" % name}
    return files


def files_below(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


# --- meson install -------------------------------------------------------------------

def test_layout(installed):
    root, prefix, libdir = installed
    options = meson_options()
    if (options["mandir"], options["datadir"]) != ("share/man", "share"):
        pytest.skip("this build has folders of its own")
    expected = expected_files(libdir)
    if module_path():
        assert re.search(r"/python3(\.\d+)?/(site|dist)-packages/juggle\.py$", module_path())
        expected.add(module_path())
    plugin = json.loads((helpers.BUILD / "meson-info" / "intro-installed.json").read_text("utf-8")).get(
        str(helpers.BUILD / "tools/slurm/spank_juggle.so"))
    if plugin:
        expected.add(os.path.relpath(plugin, options["prefix"]))
    if not test_completions.are_made():
        expected = {path for path in expected if not re.search("completion|site-func", path)}
    manuals = options["manuals"]
    if (options["auto_features"] if manuals == "auto" else manuals) == "disabled":
        expected = {path for path in expected if not path.startswith("share/man/")}
    found = files_below(prefix)
    assert found == expected
    assert files_below(root) == {str((prefix / path).relative_to(root)) for path in expected}


def test_the_library_has_its_name_and_no_path_of_the_build(installed):
    readelf = shutil.which("readelf")
    if not readelf:
        pytest.skip("readelf is not installed")
    _, prefix, libdir = installed
    for path in [prefix / libdir / "libprogress.so", *sorted((prefix / "bin").iterdir())]:
        shown = helpers.run([readelf, "-d", str(path)]).stdout
        assert str(helpers.BUILD) not in shown, path
        if path.suffix == ".so":
            assert "Library soname: [libprogress.so.1]" in shown
    assert os.readlink(prefix / libdir / "libprogress.so") == "libprogress.so.1"


@pytest.fixture
def build_and_run(installed, tmp_path):
    """build_and_run(COMMAND) is what a.out, which that command makes of the files in tmp_path, prints. It finds the
    library below the prefix."""
    if helpers.SANITIZER:
        pytest.skip("the library wants the runtime of a sanitizer")
    _, prefix, libdir = installed
    for path in (prefix / libdir / "pkgconfig").iterdir():
        text = re.sub("^prefix=.*", "prefix=%s" % prefix, path.read_text("utf-8"))
        (tmp_path / path.name).write_text(text)
    env = {**os.environ, "PKG_CONFIG_PATH": str(tmp_path), "LD_LIBRARY_PATH": str(prefix / libdir)}

    def run(command):
        for tool in ("pkg-config", command.split()[0]):
            if not shutil.which(tool):
                pytest.skip("%s is not installed" % tool)
        done = helpers.run(["sh", "-c", command], cwd=tmp_path, env=env)
        if "omp.h" in done.stderr:
            pytest.skip("no OpenMP here")
        assert done.returncode == 0, done.stderr
        ran = helpers.run(["./a.out"], cwd=tmp_path, env=env)
        if "No space" in ran.stderr or "No such file" in ran.stderr:
            pytest.skip("/dev/shm cannot be used here")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout
    return run


@pytest.mark.parametrize("name", ["braid.c", "count.f90"])
def test_examples_build_as_they_say(build_and_run, tmp_path, name):
    """By the command in their comments, and no file of the tree but the example."""
    path = shutil.copy(helpers.REPO / "libprogress" / "examples" / name, tmp_path)
    command = re.search(r"^(?: \*|!) +((?:cc|gfortran) .*)$", Path(path).read_text("utf-8"), re.MULTILINE)
    build_and_run(command.group(1))


def test_programs_in_cxx(build_and_run, tmp_path):
    shutil.copy(helpers.REPO / "tests/unit/libprogress/test_cxx.cpp", tmp_path)
    build_and_run("c++ -std=c++11 test_cxx.cpp $(pkg-config --cflags --libs libprogress) -pthread")


README_MAIN = """
#include <stdio.h>
enum { LAST = 1000 };
static atomic_int calls[8], late[8];
static atomic_bool ended;
double update(uint32_t subdomain)
{
	volatile double x = subdomain;
	late[subdomain] += ended;
	for (int i = 0; i < (subdomain < 4 ? 30000 : 10000); i++)
		x = x * 0.5 + 1;
	if (++calls[subdomain] >= LAST)
		ended = true;
	return x;
}
int main(void)
{
	uint64_t iteration[8] = {0};
	int error = iterate(2, iteration, LAST);
	for (int i = 0; i < 8; i++)
		printf("%d %d ", (int)iteration[i], (int)late[i]);
	return error != 0;
}
"""


@pytest.mark.alone
def test_readme_example(build_and_run, tmp_path):
    """It compiles as it says, its subdomains stay together, and its threads end together: once a subdomain has had
    its last update, the others get one in the round that is under way, and one in a round that began just then."""
    text = (helpers.REPO / "README.md").read_text("utf-8")
    code = text.partition("```c\n")[2].partition("```")[0]
    assert "progress_begin" in code
    (tmp_path / "app.c").write_text(code + README_MAIN)
    command = re.search("^    (cc -fopenmp .*)$", text, re.MULTILINE).group(1)

    def spread():
        words = [int(word) for word in build_and_run(command + " -Wall -Wextra -Werror").split()]
        counts, late = words[::2], words[1::2]
        assert len(counts) == 8 and max(counts) >= 1000
        assert max(late) <= 2, "updates after the end: %s" % late
        return max(counts) - min(counts)
    assert min([spread() for _ in range(3)]) < 500


def test_version_is_one(installed):
    version = re.search(r"^  version: '(.*)',$", (helpers.REPO / "meson.build").read_text("utf-8"), re.MULTILINE)
    _, prefix, libdir = installed
    assert "\nVersion: %s\n" % version.group(1) in (prefix / libdir / "pkgconfig/libprogress.pc").read_text("utf-8")
    changelog = (DEBIAN / "changelog").read_text("utf-8")
    # A native package: it has no revision.
    assert (DEBIAN / "source/format").read_text("utf-8") == "3.0 (native)\n"
    assert re.match(r"juggle \((.*?)\)", changelog).group(1) == version.group(1)


def test_the_module_is_imported_where_it_is_installed(installed):
    if not module_path():
        pytest.skip("this build installs no Python module")
    _, prefix, _ = installed
    folder = (prefix / module_path()).parent
    done = helpers.run([sys.executable, "-B", "-c", "import juggle; print(juggle.__file__)"],
                       env={"PYTHONPATH": str(folder)})
    assert (done.returncode, done.stdout) == (0, "%s/juggle.py\n" % folder), done.stderr


# --- Debian --------------------------------------------------------------------------

def test_debian_packages_divide_what_is_installed():
    """Each file belongs to one package, and no list names a file that does not exist."""
    everything = {"usr/" + path.replace("zsh/site-functions", "zsh/vendor-completions")
                  for path in expected_files("lib/x86_64-linux-gnu") | {
                      "lib/python3/dist-packages/juggle.py", "lib/x86_64-linux-gnu/slurm-wlm/spank_juggle.so"}}
    everything.add("tools/packaging/slurm/juggle.conf")  # not by meson
    taken = {}
    for file in sorted(DEBIAN.glob("*.install")):
        for line in file.read_text("utf-8").splitlines():
            pattern = line.split()[0]  # a folder may follow
            found = fnmatch.filter(everything, pattern)
            assert found, "%s: nothing is %s" % (file.name, pattern)
            for path in found:
                assert taken.setdefault(path, file.stem) == file.stem, "in two packages: " + path
    assert set(taken) == everything
    packages = re.findall(r"^Package: (\S+)$", (DEBIAN / "control").read_text("utf-8"), re.MULTILINE)
    assert set(taken.values()) == set(packages)
    for example in (DEBIAN / "libprogress-dev.examples").read_text("utf-8").split():
        assert (helpers.REPO / example).is_file()


def test_debian_builds_with_the_packages_of_the_list():
    listed = {}
    for line in (helpers.REPO / "tools/packages.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, package = line.split()
            listed.setdefault(kind, set()).add(package)
    field = re.search(r"^Build-Depends:\n((?: .*\n)*)", (DEBIAN / "control").read_text("utf-8"), re.MULTILINE)
    wanted = {re.split(r"[ (:<,]", line.strip())[0] for line in field.group(1).splitlines()}
    wanted = {package.replace("debhelper-compat", "debhelper") for package in wanted}
    assert listed["build"] - wanted <= NOT_NAMED
    assert wanted <= listed["build"] | listed["package"]


def test_debian_symbols_are_those_of_the_library():
    text = (DEBIAN / "libprogress1.symbols").read_text("utf-8")
    listed = re.findall(r"^ (progress_\w+)@PROGRESS_1 ", text, re.MULTILINE)
    assert listed == sorted(test_manuals.prototypes_of_header())


def test_debian_scripts_can_be_run():
    for path in [DEBIAN / "rules", PACKAGING / "make-deb"]:
        assert os.access(path, os.X_OK), path
    for name in re.findall(r"^Tests: (\S+)$", (DEBIAN / "tests/control").read_text("utf-8"), re.MULTILINE):
        assert os.access(DEBIAN / "tests" / name, os.X_OK)


@pytest.mark.parametrize("words, said", [(["--outdir"], "needs a value"), (["--frob"], "unknown option")])
def test_make_deb_with_a_wrong_command_line(words, said):
    done = helpers.run([str(PACKAGING / "make-deb"), *words])
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_make_deb_makes_a_source_package(tmp_path):
    for tool in ("dpkg-buildpackage", "dh", "xz"):
        if not shutil.which(tool):
            pytest.skip("%s is not installed" % tool)
    before = helpers.run(["git", "-C", str(helpers.REPO), "status", "--porcelain", "--ignored"]).stdout
    done = helpers.run([str(PACKAGING / "make-deb"), "--source", "--no-install", "--outdir", str(tmp_path)])
    assert done.returncode == 0, done.stdout + done.stderr
    source, = tmp_path.glob("juggle_*.tar.xz")
    assert list(tmp_path.glob("juggle_*.dsc"))
    names = subprocess.run(["tar", "-tf", str(source)], capture_output=True, text=True, check=True,
                           timeout=helpers.TIMEOUT_S).stdout.splitlines()
    names = {name.partition("/")[2] for name in names}
    assert {"debian/rules", "meson.build", "daemon/main.c", "tools/packaging/make-deb"} <= names
    assert not any(name.startswith((".git/", "build")) for name in names)
    assert helpers.run(["git", "-C", str(helpers.REPO), "status", "--porcelain", "--ignored"]).stdout == before


# --- Spack ---------------------------------------------------------------------------

def test_spack_recipe_names_options_of_the_build():
    """Without Spack: the recipe is Python, and the options it passes to meson are features
    there."""
    tree = ast.parse((PACKAGING / "spack/packages/juggle/package.py").read_text("utf-8"))
    recipe, = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert recipe.name == "Juggle"
    calls = [node.value for node in recipe.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    variants = {call.args[0].value for call in calls if call.func.id == "variant"}
    args, = [node for node in recipe.body if isinstance(node, ast.FunctionDef)]
    words = {node.value for node in ast.walk(args) if isinstance(node, ast.Constant)}
    text = (helpers.REPO / "meson_options.txt").read_text("utf-8")
    features = set(re.findall(r"^option\('(\w+)', type: 'feature'", text, re.MULTILINE))
    assert variants == {"mpi", "openmp", "ncurses"}
    assert variants | {"completions", "fortran", "python", "tests"} <= features & words
