# The worker in a container: the code as it stands, on the image's own Node, as a user without rights.
# No build step: Node runs the TypeScript as it is. The target "tidemark" is the image for a DuckDB file; the target
# "lake" has DuckDB's extensions too.
# The digest pins the image for all platforms. docs/DEPLOYING.md explains how to take a newer one.
ARG TIDEMARK_NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20
FROM ${TIDEMARK_NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The pinned Node is for machines without one that is new enough; this image has it.
RUN npm ci --omit=dev --loglevel=error && rm -rf node_modules/node-linux-* node_modules/.bin/node

FROM ${TIDEMARK_NODE_IMAGE} AS tidemark
ENV NODE_ENV=production \
    UV_THREADPOOL_SIZE=16 \
    MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=262144 \
    TIDEMARK_WAREHOUSE=/data/warehouse.duckdb \
    TIDEMARK_PUBLISHED=/data/published.duckdb
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json LICENSE ./
COPY bin bin
COPY schema schema
COPY src src
COPY jobs jobs
# A named volume takes over the owner of the folder that it is mounted on. With a lake, local files are in the folder
# "data" beside tidemark.yaml.
RUN mkdir /data /etc/tidemark && chown node:node /data && ln -s /data /etc/tidemark/data
VOLUME /data
USER node
# SIGTERM: jobs are handed back and the warehouse is closed within seconds.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["node", "bin/tidemark.js", "health"]
ENTRYPOINT ["node", "/app/bin/tidemark.js"]
CMD ["worker"]

# DuckDB's extensions come as Python packages, for exactly the version of DuckDB in node_modules.
FROM packages AS extensions
RUN apt-get update && apt-get install -y --no-install-recommends python3-pip unzip
RUN version=$(node -p "JSON.parse(fs.readFileSync('node_modules/@duckdb/node-api/package.json')).version.split('-')[0]") \
    && for name in ducklake httpfs postgres-scanner; do echo "duckdb-extension-$name==$version"; done >packages.txt \
    && python3 -m pip download --no-deps --dest wheels --requirement packages.txt \
    && unzip -j -o 'wheels/*.whl' '*.duckdb_extension' -d duckdb

FROM tidemark AS lake
ENV TIDEMARK_WAREHOUSE= \
    TIDEMARK_EXTENSIONS=/app/duckdb
COPY --from=extensions /app/duckdb duckdb
