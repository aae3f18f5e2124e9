#!/bin/sh
# Writes the files that docker-compose.yml mounts as secrets, into the folder "secrets" of the working directory. The
# client secret of the reporting service is read from standard input:
#
#   sh ops/secrets.sh < client-secret.txt
set -eu
# The group may read the files, and others may not.
umask 027

if [ -e secrets ]; then
  echo 'The folder "secrets" exists already. Remove it first, to make a new password and a new token.' >&2
  exit 1
fi
IFS= read -r client_secret || [ -n "$client_secret" ]
password=$(openssl rand -hex 32)
token=$(openssl rand -hex 32)
hash=$(printf %s "$password" | openssl dgst -sha256 -r | cut -d ' ' -f 1)

mkdir secrets
printf '%s\n' "$client_secret" >secrets/reporting
# Tidemark reads this file as the .env beside its tidemark.yaml.
{
  echo "TIDEMARK_QUEUE_URL=redis://:$password@redis:6379"
  echo "TIDEMARK_CONSOLE_TOKEN=$token"
} >secrets/tidemark.env
# Redis reads its users from this file. It contains only the hash of the password.
{
  echo "user default on #$hash ~* &* +@all"
  echo 'user health on nopass -@all +ping'
} >secrets/redis.acl

# The profile "lake": PostgreSQL and the object storage have secrets of their own. Its jobs are in database 1 of Redis.
catalogue=$(openssl rand -hex 32)
key=$(openssl rand -hex 32)
printf %s "$catalogue" >secrets/postgres
echo "export ROOT_ACCESS_KEY=tidemark ROOT_SECRET_KEY=$key" >secrets/storage.env
{
  echo "TIDEMARK_QUEUE_URL=redis://:$password@redis:6379/1"
  echo "TIDEMARK_CONSOLE_TOKEN=$token"
  echo "TIDEMARK_WAREHOUSE=ducklake:postgres:host=postgres dbname=lake user=tidemark password=$catalogue"
  echo "AWS_ACCESS_KEY_ID=tidemark"
  echo "AWS_SECRET_ACCESS_KEY=$key"
} >secrets/lake.env

# The users of all images have the group 1000.
group=${TIDEMARK_GROUP:-1000}
chgrp -R "$group" secrets || {
  rm -r secrets
  echo "The containers run with the group $group and must read the files. Run this command with sudo." >&2
  exit 1
}
