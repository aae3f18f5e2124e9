# The worker in a container: the code as it stands, on the image's own Node, as a user without rights.
# No build step: Node runs the TypeScript as it is.
# The digest pins the image for all platforms. docs/DEPLOYING.md explains how to take a newer one.
ARG TIDEMARK_NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20
FROM ${TIDEMARK_NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The pinned Node is for machines without one that is new enough; this image has it.
RUN npm ci --omit=dev --loglevel=error && rm -rf node_modules/node-linux-* node_modules/.bin/node

FROM ${TIDEMARK_NODE_IMAGE}
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
# A named volume takes over the owner of the folder that it is mounted on.
RUN mkdir /data && chown node:node /data
VOLUME /data
USER node
# SIGTERM: jobs are handed back and the warehouse is closed within seconds.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["node", "bin/tidemark.js", "health"]
ENTRYPOINT ["node", "bin/tidemark.js"]
CMD ["worker"]
