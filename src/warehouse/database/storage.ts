/** A lake's object storage: access keys, errors and the removal of unused files. */
import { SyncError } from '../../errors.ts'
import type { Secret, StorageAccess } from '../../secret.ts'
import { name, type Sql, text } from './sql.ts'

/** Sets the access keys for files under `data`, in memory only. */
export async function allowStorage(sql: Pick<Sql, 'run'>, data: string, access: StorageAccess<Secret | string>) {
  const { endpoint, region, urlStyle, keys } = access
  const [id, secret, token = "''"] = keys.map((key) => text(typeof key === 'string' ? key : key.reveal()))
  await sql.run(`
    SET enable_server_cert_verification = true;
    CREATE OR REPLACE SECRET ${name(`tidemark ${data}`)} (TYPE s3, SCOPE ${text(data)}, KEY_ID ${id}, SECRET ${secret},
      SESSION_TOKEN ${token}, REGION ${text(region)}, ENDPOINT ${text(endpoint.replace(/^https?:\/\/|\/$/g, ''))},
      URL_STYLE ${text(urlStyle)}, USE_SSL ${!endpoint.startsWith('http:')})`)
}

/** Marks the folder as this lake's. Throws STORAGE_REFUSED if another lake has marked it. */
export async function claimFolder(sql: Pick<Sql, 'run' | 'rows'>, data: string, mark: string): Promise<void> {
  const own = `${data}tidemark-lake-${mark.replaceAll('~', '')}.csv`
  const marks = () => sql.rows<{ file: string }>(`FROM glob(${text(`${data}tidemark-lake-*.csv`)})`)
  if ((await marks()).length === 0) await sql.run(`COPY (SELECT 'a lake' AS owner) TO ${text(own)}`)
  // The mark files are read again, because two lakes can write their mark files at the same time.
  const other = (await marks()).find(({ file }) => file !== own)?.file
  if (other === undefined) return
  throw new SyncError('STORAGE_REFUSED', `${data} belongs to another lake: ${other} is the mark of that lake`, {
    cure: 'Set lake_data to a folder of its own: each lake removes files that its own catalogue does not name. If that lake is gone, move its folder away.',
  })
}

/** Deletes files that aborted loads left behind, and returns their number. */
export async function removeOrphans(sql: Pick<Sql, 'rows'>, lake: string): Promise<number> {
  // Keeps files less than a day old, because they may belong to a load that has not committed yet.
  const age = 'older_than => now() - INTERVAL 1 DAY'
  return (await sql.rows(`CALL ducklake_delete_orphaned_files(${text(lake)}, ${age})`)).length
}

const KEYS = 'Correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or renew AWS_SESSION_TOKEN), and start again.'
export const PERMISSIONS = 'Allow the access key to list the bucket, and to read, write and delete below lake_data.'

const REFUSALS: readonly (readonly [pattern: RegExp, what: string, cure: string])[] = [
  [/TimeTooSkewed|RequestExpired/, "this machine's clock differs too much from the storage's", 'Set this clock.'],
  [/QuotaExceeded|StorageFull|HTTP (?:code )?507/, 'the bucket is full', 'Free space in it, or raise its quota.'],
  [/NoSuchBucket/, 'the bucket does not exist', 'Create the bucket, or correct lake_data or lake_endpoint.'],
  [/SignatureDoesNotMatch|AccessKeyId|UserNotFound|(?:Expired|Invalid)Token/, 'the access key is not accepted', KEYS],
  [/AuthorizationHeaderMalformed|HTTP (?:code )?(?:301|400)/, 'the region may be wrong', 'Correct lake_region.'],
  [/HTTP (?:code )?40[135]/, 'this access key has no permission for a request', PERMISSIONS],
  [/HTTP (?:code )?404/, 'a bucket or file is missing', 'Correct lake_data, or restore the files from a backup.'],
]

export const STORAGE_FAULT = /HTTP Error: |error for HTTP (?:GET|PUT|POST|HEAD|DELETE) /

export function storageError(message: string, cause: unknown): SyncError {
  const [first = '', , answer = ''] = message.replace(/^.*?(?:HTTP|IO) Error: /s, '').split('\n')
  const detail = /^\w+: /.test(answer) ? `${first}, ${answer}` : first
  const [, refusal, refusalCure] = REFUSALS.find(([pattern]) => pattern.test(message)) ?? []
  if (refusalCure) return new SyncError('STORAGE_REFUSED', `${refusal}: ${detail}`, { cure: refusalCure, cause })
  const cure = 'Check lake_endpoint, the network and the storage. The next run reads the rows of this load again.'
  return new SyncError('STORAGE_UNREACHABLE', `the object storage does not answer: ${detail}`, { cure, cause })
}
