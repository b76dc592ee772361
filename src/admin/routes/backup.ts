/** Routes of backups: a snapshot of the records, and the blobs it names, which a lease keeps from being freed. */
import { Fault } from '../../model/faults.ts'
import { body, path } from '../input.ts'
import { type ByteStream, route } from '../route.ts'
import { COUNT, objectOf, oneOfWords, TIME, YES_OR_NO } from '../schemas.ts'

const CONTENT_TYPE = 'application/octet-stream'
const IDS_MAX = 1000
const IDS = /^[0-9a-f]{32}(,[0-9a-f]{32})*$/

const backup = path('The backup id that StartBackup returned')

const blobIds = {
  schema: { type: 'string', pattern: IDS.source },
  read(value: unknown, name: string): readonly Buffer[] {
    const ids = typeof value === 'string' && IDS.test(value) ? value.split(',') : []
    if (ids.length === 0 || ids.length > IDS_MAX) {
      throw new Fault('InvalidArgument', { ArgumentName: name, reason: `${name} is not a list of 1 to ${IDS_MAX} ids` })
    }
    return ids.map(id => Buffer.from(id, 'hex'))
  },
}

export const GetBackup = route({
  name: 'GetBackup',
  method: 'GET',
  path: '/v1/backups',
  summary: 'Get the progress of the backup that a client is taking',
  permission: 'admin',
  input: {},
  answer: objectOf({
    running: YES_OR_NO,
    'takenAt?': TIME,
    'phase?': oneOfWords('records', 'blobs'),
    'sentBytes?': COUNT,
    'idleSeconds?': COUNT,
  }),
  run: async ctx => ({ running: ctx.backups.progress !== undefined, ...ctx.backups.progress }),
})

export const StartBackup = route({
  name: 'StartBackup',
  method: 'POST',
  path: '/v1/backups',
  summary: 'Take a snapshot and retain every blob it names until EndBackup or five idle minutes; one backup at a time',
  permission: 'admin',
  status: 201,
  input: {},
  run: async ctx => ctx.backups.start(),
})

export const ReadBackupRecords = route({
  name: 'ReadBackupRecords',
  method: 'GET',
  path: '/v1/backups/{backup}/records',
  summary: 'Read all records of the snapshot once, in the format of docs/formats/backup.md',
  permission: 'admin',
  input: { backup },
  run: async (ctx, input): Promise<ByteStream> => ({
    contentType: CONTENT_TYPE,
    bytes: ctx.backups.records(input.backup),
  }),
})

export const ReadBackupBlobs = route({
  name: 'ReadBackupBlobs',
  method: 'POST',
  path: '/v1/backups/{backup}/blobs',
  summary: 'Read blobs as they are stored; encrypted ones stay encrypted',
  permission: 'admin',
  input: { backup, ids: body(blobIds, 'Ids in hexadecimal, separated by commas') },
  run: async (ctx, input): Promise<ByteStream> => ({
    contentType: CONTENT_TYPE,
    bytes: ctx.backups.blobs(input.backup, input.ids),
  }),
})

export const KeepBackup = route({
  name: 'KeepBackup',
  method: 'POST',
  path: '/v1/backups/{backup}',
  summary: 'Renew the lease of the backup',
  permission: 'admin',
  status: 204,
  input: { backup },
  run: async (ctx, input) => ctx.backups.keep(input.backup),
})

export const EndBackup = route({
  name: 'EndBackup',
  method: 'DELETE',
  path: '/v1/backups/{backup}',
  summary: 'End the backup and release its snapshot',
  permission: 'admin',
  status: 204,
  input: { backup },
  run: async (ctx, input) => ctx.backups.end(input.backup),
})
