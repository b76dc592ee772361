/** A backup: a snapshot of the records, and the bytes that it names for as long as whoever makes it goes on asking. */
import { Fault } from '../../model/faults.ts'
import { body, path } from '../input.ts'
import { route, type Stream } from '../route.ts'

const CONTENT_TYPE = 'application/octet-stream'
const IDS_MAX = 1000
const IDS = /^[0-9a-f]{32}(,[0-9a-f]{32})*$/

const backup = path('What StartBackup answered')

const blobIds = {
  schema: { type: 'string', pattern: IDS.source },
  read(value: unknown, name: string): readonly Buffer[] {
    const ids = typeof value === 'string' && IDS.test(value) ? value.split(',') : []
    if (ids.length === 0 || ids.length > IDS_MAX) {
      throw new Fault('InvalidArgument', { ArgumentName: name, reason: `${name} is not 1 to ${IDS_MAX} ids` })
    }
    return ids.map(id => Buffer.from(id, 'hex'))
  },
}

export const StartBackup = route({
  name: 'StartBackup',
  method: 'POST',
  path: '/v1/backups',
  summary: 'Take a snapshot, and keep every byte it names until EndBackup or five minutes of silence; one at a time',
  permission: 'admin',
  status: 201,
  input: {},
  run: async ctx => ctx.backups.start(),
})

export const ReadBackupRecords = route({
  name: 'ReadBackupRecords',
  method: 'GET',
  path: '/v1/backups/{backup}/records',
  summary: 'All records of the snapshot, once, as docs/formats/backup.md says',
  permission: 'admin',
  input: { backup },
  run: async (ctx, input): Promise<Stream> => ({ contentType: CONTENT_TYPE, bytes: ctx.backups.records(input.backup) }),
})

export const ReadBackupBlobs = route({
  name: 'ReadBackupBlobs',
  method: 'POST',
  path: '/v1/backups/{backup}/blobs',
  summary: 'Blobs as they are stored, sealed ones sealed',
  permission: 'admin',
  input: { backup, ids: body(blobIds, 'Ids in hexadecimal, separated by commas') },
  run: async (ctx, input): Promise<Stream> => ({
    contentType: CONTENT_TYPE,
    bytes: ctx.backups.blobs(input.backup, input.ids),
  }),
})

export const KeepBackup = route({
  name: 'KeepBackup',
  method: 'POST',
  path: '/v1/backups/{backup}',
  summary: 'A sign of life: the backup is still being made',
  permission: 'admin',
  status: 204,
  input: { backup },
  run: async (ctx, input) => ctx.backups.keep(input.backup),
})

export const EndBackup = route({
  name: 'EndBackup',
  method: 'DELETE',
  path: '/v1/backups/{backup}',
  summary: 'The backup is done, or given up: what only it needed may be freed',
  permission: 'admin',
  status: 204,
  input: { backup },
  run: async (ctx, input) => ctx.backups.end(input.backup),
})
