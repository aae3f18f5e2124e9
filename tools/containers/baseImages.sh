#!/bin/sh
# Builds the base images from Debian's packages (Node, Redis, PostgreSQL) and from Go (the object storage), for machines
# that cannot reach a registry. It needs root, debootstrap, npm, a container engine, and the node_modules of `npm ci`.
# docs/TESTING.md explains its use.
set -eu
cd "$(dirname "$0")/../.."
here=$(pwd)/tools/containers
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# The same program as in test/lake.
node_modules/.bin/node -e "import('./test/support/objectStorage.ts').then(({ needStorage }) => needStorage())"
storage=$(PATH="$PATH:$(pwd)/node_modules/.cache/versitygw:$HOME/go/bin" command -v versitygw)

debootstrap --variant=minbase --include=ca-certificates,redis-server,postgresql,wget bookworm "$root"
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/var/lib/postgresql/*
# The machine's own certificates, so that `npm ci` in the image reaches the same registry as on the machine.
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
cp node_modules/node-linux-*/bin/node "$root/usr/local/bin/node"
mkdir -p "$root/usr/local/lib/node_modules"
cp -r "$(npm root --global)/npm" "$root/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
# The public images have these numbers, and docker-compose.yml names them.
chroot "$root" groupadd --gid 1000 node
chroot "$root" useradd --uid 1000 --gid node --create-home node
chroot "$root" usermod --non-unique --uid 999 postgres
ln -s "$(cd "$root" && ls -d usr/lib/postgresql/*/bin | sed 's|^|/|')" "$root/usr/local/postgresql"
cp "$here/postgres.sh" "$root/usr/local/bin/postgres-entrypoint"
cp "$storage" "$root/usr/local/bin/versitygw"

tar -C "$root" -c . | docker import --change 'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt' \
  --change 'CMD ["node"]' - tidemark-base-node
docker build --tag tidemark-base-redis - <<'DOCKERFILE'
FROM tidemark-base-node
RUN mkdir /data && chown 999:1000 /data
WORKDIR /data
EXPOSE 6379
CMD ["redis-server"]
DOCKERFILE
docker build --tag tidemark-base-postgres - <<'DOCKERFILE'
FROM tidemark-base-node
ENV PATH=/usr/local/postgresql:/usr/local/bin:/usr/bin:/bin PGDATA=/var/lib/postgresql/data
RUN mkdir -p "$PGDATA" && chown postgres:postgres "$PGDATA" && chmod 1777 "$PGDATA"
STOPSIGNAL SIGINT
ENTRYPOINT ["postgres-entrypoint"]
CMD ["postgres"]
DOCKERFILE
docker build --tag tidemark-base-storage - <<'DOCKERFILE'
FROM tidemark-base-node
ENTRYPOINT ["versitygw"]
DOCKERFILE

echo 'export TIDEMARK_NODE_IMAGE=tidemark-base-node TIDEMARK_REDIS_IMAGE=tidemark-base-redis'
echo 'export TIDEMARK_POSTGRES_IMAGE=tidemark-base-postgres TIDEMARK_STORAGE_IMAGE=tidemark-base-storage'
