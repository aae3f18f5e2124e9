#!/bin/sh
# Builds the two base images from Debian's packages, Node and Redis, for machines that cannot reach a registry.
# It needs root, debootstrap, npm, a container engine, and the node_modules of `npm ci`. docs/TESTING.md explains its use.
set -eu
cd "$(dirname "$0")/../.."
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

debootstrap --variant=minbase --include=ca-certificates,redis-server bookworm "$root"
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
# The machine's own certificates, so that `npm ci` in the image reaches the same registry as on the machine.
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
cp node_modules/node-linux-*/bin/node "$root/usr/local/bin/node"
mkdir -p "$root/usr/local/lib/node_modules"
cp -r "$(npm root --global)/npm" "$root/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
# The public images have these numbers, and docker-compose.yml names them.
chroot "$root" groupadd --gid 1000 node
chroot "$root" useradd --uid 1000 --gid node --create-home node

tar -C "$root" -c . | docker import --change 'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt' \
  --change 'CMD ["node"]' - tidemark-base-node
docker build --tag tidemark-base-redis - <<'DOCKERFILE'
FROM tidemark-base-node
RUN mkdir /data && chown 999:1000 /data
WORKDIR /data
EXPOSE 6379
CMD ["redis-server"]
DOCKERFILE

echo 'export TIDEMARK_NODE_IMAGE=tidemark-base-node TIDEMARK_REDIS_IMAGE=tidemark-base-redis'
