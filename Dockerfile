# The page of nmt serve with the bundled models: docs/how-to/deploy.md says how to build it and run it.
FROM python:3.12-slim-bookworm AS build

# For a PyTorch without CUDA (200 MB, not 3 GB), name a package index or a folder that offers one: --build-arg.
ARG PIP_EXTRA_INDEX_URL=
ARG PIP_FIND_LINKS=
WORKDIR /build
COPY pyproject.toml setup.py constraints.txt README.md LICENSE ./
COPY nmt nmt
COPY configs configs
COPY data data
COPY checkpoints checkpoints
RUN python -m venv /opt/nmt && \
    /opt/nmt/bin/pip install --no-cache-dir --disable-pip-version-check --constraint constraints.txt '.[serve]'

FROM python:3.12-slim-bookworm
COPY --from=build /opt/nmt /opt/nmt
ENV PATH=/opt/nmt/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/nonexistent \
    MPLCONFIGDIR=/tmp
WORKDIR /opt/nmt
USER 10001:10001
EXPOSE 8000
# A server that asks for a token is well when it refuses.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8000, timeout=4); c.request('GET', '/api'); raise SystemExit(c.getresponse().status not in (200, 401))"]
ENTRYPOINT ["nmt", "serve", "--host", "0.0.0.0", "--port", "8000"]
# Without other arguments a token is made up, and printed with the address: docker logs shows it.
CMD ["--token"]
