# The command line in a container. This file has not been built yet, because there was no Docker
# engine where it was written.
#
#   docker build -t kernimpute .
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/data" kernimpute impute table.csv -o filled.csv
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv /opt/kernimpute \
    && /opt/kernimpute/bin/pip install --no-cache-dir '.[excel]'

FROM python:3.13-slim
COPY --from=build /opt/kernimpute /opt/kernimpute
# One thread, because matrices of this size gain nothing from more. The compiled code is cached in
# a folder that every user may write to.
ENV PATH=/opt/kernimpute/bin:$PATH \
    OMP_NUM_THREADS=1 \
    OPENBLAS_NUM_THREADS=1 \
    NUMBA_CACHE_DIR=/tmp/numba
RUN useradd --uid 1000 --create-home kernimpute
USER 1000
WORKDIR /data
VOLUME /data
ENTRYPOINT ["kernimpute"]
CMD ["--help"]
