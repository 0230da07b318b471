# Pnyx for campaigns: the command line, TREC AutoJudge and `pnyx serve`. Nothing is downloaded at
# run time (docs/recipes/container.md).
FROM python:3.11-slim AS build
RUN python -m venv /opt/pnyx
ENV PATH=/opt/pnyx/bin:$PATH
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY lab/nltk_data.py lab/
COPY src/ src/
RUN pip install --no-cache-dir --constraint constraints.txt '.[autojudge,fast,serve]' \
    && python lab/nltk_data.py

FROM python:3.11-slim
COPY --from=build /opt/pnyx /opt/pnyx
RUN useradd --uid 10001 --create-home pnyx && install --directory --owner pnyx /data
ENV PATH=/opt/pnyx/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    NUMBA_CACHE_DIR=/tmp/numba \
    PNYX_STORE=/data/.pnyx/store.sqlite
USER pnyx
WORKDIR /data
ENTRYPOINT ["pnyx"]
CMD ["--help"]
