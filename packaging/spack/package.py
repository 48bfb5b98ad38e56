"""py-rheostat for Spack; `make dist` puts a copy with the digest of the sdist into dist/."""

from spack.package import PythonPackage, depends_on, license, variant, version


class PyRheostat(PythonPackage):
    """Turn the knob, see the price: trade runtime against power and energy for HPC and AI jobs."""

    pypi = "rheostat/rheostat-0.2.0.tar.gz"

    license("Apache-2.0")

    version("0.2.0", sha256="0000000000000000000000000000000000000000000000000000000000000000")

    variant("figures", default=False, description="Figures for papers")
    variant("serve", default=False, description="The same questions over HTTP")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-setuptools@77:", type="build")
    depends_on("py-numpy@2.0:", type=("build", "run"))
    depends_on("py-scipy@1.15:", type=("build", "run"))
    depends_on("py-polars@1.30:", type=("build", "run"))
    depends_on("py-pyarrow@17:", type=("build", "run"))
    depends_on("py-python-calamine@0.6:", type=("build", "run"))
    depends_on("py-numba@0.61:", type=("build", "run"))
    depends_on("py-scikit-learn@1.6:", type=("build", "run"))
    depends_on("py-skops@0.13:", type=("build", "run"))
    depends_on("py-moocore@0.2:", type=("build", "run"))
    depends_on("py-threadpoolctl@3:", type=("build", "run"))
    depends_on("py-typer@0.19:", type=("build", "run"))
    depends_on("py-rich@13:", type=("build", "run"))
    depends_on("py-plotly@6:", type=("build", "run"))
    depends_on("py-jinja2@3.1:", type=("build", "run"))
    depends_on("py-platformdirs@4:", type=("build", "run"))
    depends_on("py-pooch@1.8:", type=("build", "run"))
    depends_on("py-requests@2.32:", type=("build", "run"))
    depends_on("py-urllib3@2.2:", type=("build", "run"))
    depends_on("py-packaging@24:", type=("build", "run"))

    depends_on("py-matplotlib@3.9:", type=("build", "run"), when="+figures")
    depends_on("py-fastapi@0.115:", type=("build", "run"), when="+serve")
    depends_on("py-uvicorn@0.34:", type=("build", "run"), when="+serve")
    depends_on("py-prometheus-client@0.20:", type=("build", "run"), when="+serve")
